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
import type { House, Room } from './room.ts';

type Shared = {
  auth: Authenticator<unknown>;
  management: Management;
  cursors: Signer;
  additions: AllAdditions;
  now: () => number;
};

/** Collects what the rooms hand in. */
export function assemble(rooms: readonly Room[], { auth, management, cursors, additions, now }: Shared): House {
  const permissions = rooms.flatMap((room) => room.permissions ?? []).sort(byRole);
  return {
    rooms,
    permissions,
    // What users do first; the service's own events come from an early room.
    events: registerEventTypes(rooms.toReversed().flatMap((room) => room.eventTypes ?? [])),
    navigation: navigationOf(rooms.flatMap((room) => room.navigation ?? [])),
    commands: rooms.flatMap((room) => room.commands ?? []),
    userData: userDataOf(rooms.flatMap((room) => room.userData ?? [])),
    examples: rooms.find((room) => room.examples !== undefined)?.examples ?? null,
    auth,
    management: createManagementClient({
      ...{ management, permissions, cursors, additions, now },
      propose: rooms.find((room) => room.propose !== undefined)?.propose ?? null,
    }),
  };
}

/** Those that more users hold first. */
const byRole = (a: PermissionEntry, b: PermissionEntry): number =>
  Number(hasRole(a.role, b.role)) - Number(hasRole(b.role, a.role));

/**
 * Steps run from the last room to the first, for later rooms refer to earlier ones. That is also the order in which
 * rows are locked.
 */
function userDataOf(parts: readonly UserDataPart[]): UserDataSteps {
  const lastFirst = parts.toReversed();
  const only = <T>(found: readonly (T | undefined)[], what: string): T => {
    const [one, ...more] = found.filter((step) => step !== undefined);
    if (one === undefined || more.length > 0) throw new Error(`one room must hand in ${what}`);
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
