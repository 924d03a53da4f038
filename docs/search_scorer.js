/* Scores of the search: how-tos and tutorials come before the reference, names of the API and decisions come last. */
'use strict';

var Scorer = {
  score: ([docname, , , , score, , kind]) => {
    const folder = Scorer.folders.find(([start]) => docname.startsWith(start));
    return score + (folder ? folder[1] : 0) + (kind === 'object' ? Scorer.object : 0);
  },
  /* Added to the score of a page, by the start of its name; the first that fits counts. */
  folders: [
    ['how_to/', 12],
    ['tutorials/', 11],
    ['start/', 11],
    ['explanation/', 8],
    ['math/', 5],
    ['reference/', 4],
    ['examples/', 2],
    ['adr/', -8],
    ['modules', -8],
    ['changes', -8],
    ['contributing', -8],
  ],
  /* Added to the score of a name of the API. */
  object: -16,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
