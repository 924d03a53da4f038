// Scenarios that stand in files of their own.
#pragma once

namespace scenarios
{

/// The transport by service, with a server that exists only here.
int run_service();

}  // namespace scenarios
