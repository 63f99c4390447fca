import type { AllAdditions } from '../management/additions.ts';
import { createManagementClient } from '../management/page-client.ts';
import type { Management, PermissionEntry } from '../management/unit-of-work.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { Signer } from '../platform/security/tracking-token.ts';
import type { UserDataPart } from '../platform/user-data.ts';
import type { UserDataSteps } from '../privacy/steps.ts';
import { hasRole } from '../shell/context.ts';
import { navigationOf } from '../shell/navigation.ts';
import { registerEventTypes } from '../webhooks/events.ts';
import type { Contributions, Module } from './module.ts';

type Shared = {
  auth: Authenticator<unknown>;
  management: Management;
  cursors: Signer;
  additions: AllAdditions;
  now: () => number;
};

/** Gathers the contributions of all modules. */
export function assemble(
  modules: readonly Module[],
  { auth, management, cursors, additions, now }: Shared,
): Contributions {
  const permissions = modules.flatMap((module) => module.permissions ?? []).sort(byRole);
  return {
    modules,
    permissions,
    // Events of users come first; those of the service are from an early module.
    events: registerEventTypes(modules.toReversed().flatMap((module) => module.eventTypes ?? [])),
    navigation: navigationOf(modules.flatMap((module) => module.navigation ?? [])),
    commands: modules.flatMap((module) => module.commands ?? []),
    userData: userDataOf(modules.flatMap((module) => module.userData ?? [])),
    examples: modules.find((module) => module.examples !== undefined)?.examples ?? null,
    auth,
    management: createManagementClient({
      management,
      permissions,
      cursors,
      additions,
      now,
      propose: modules.find((module) => module.propose !== undefined)?.propose ?? null,
    }),
  };
}

/** Those that more users hold first. */
const byRole = (a: PermissionEntry, b: PermissionEntry): number =>
  Number(hasRole(a.role, b.role)) - Number(hasRole(b.role, a.role));

/**
 * Steps run from the last module to the first, for later modules refer to earlier ones. That is also the order in which
 * rows are locked.
 */
function userDataOf(parts: readonly UserDataPart[]): UserDataSteps {
  const lastFirst = parts.toReversed();
  const only = <T>(found: readonly (T | undefined)[], what: string): T => {
    const [one, ...more] = found.filter((step) => step !== undefined);
    if (one === undefined || more.length > 0) throw new Error(`exactly one module must contribute ${what}`);
    return one;
  };
  return {
    findSessions: only(
      parts.map((part) => part.findSessions),
      'findSessions',
    ),
    eraseSessions: only(
      parts.map((part) => part.eraseSessions),
      'eraseSessions',
    ),
    eraseBeforeSessions: lastFirst.flatMap((part) => part.eraseBeforeSessions ?? []),
    eraseWithSessions: lastFirst.flatMap((part) => part.eraseWithSessions ?? []),
    eraseOfUser: lastFirst.flatMap((part) => part.eraseOfUser ?? []),
    exports: Object.assign({}, ...parts.map((part) => part.exports ?? {})),
  };
}
