/* Print the pages that the search of a site finds, best first, as JSON: node search_site.js FOLDER WORDS... */
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, ...queries] = process.argv.slice(2);
const element = () => ({ appendChild: (child) => child, classList: { add() {} }, dataset: {} });
const context = vm.createContext({
  document: {
    addEventListener() {},
    createElement: element,
    documentElement: element(),
    getElementById: () => null,
    querySelector: () => null,
    readyState: 'loading',
  },
  DOCUMENTATION_OPTIONS: {},
  localStorage: { setItem() {} },
  SPHINX_HIGHLIGHT_ENABLED: false,
  _ready() {},
  _: (text) => text,
  console,
});
context.window = context;
const read = (name) => fs.readFileSync(path.join(folder, name), 'utf8');
const files = ['_static/language_data.js', '_static/searchtools.js', 'searchindex.js'];
const search = `(query) => Search._performSearch(...Search._parseQuery(query)).reverse()`;
vm.runInContext(files.map(read).join('\n;\n'), context);
const run = vm.runInContext(search, context);
const found = queries.map((query) => [query, run(query).map(([name, title]) => [name, title])]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
