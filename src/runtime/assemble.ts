import type { PageExtensions } from '../catalog/pages.ts';
import { type Additions, type AllAdditions, bothAdditions } from '../management/additions.ts';
import { createManagementClient } from '../management/page-client.ts';
import type { Management, PermissionEntry } from '../management/unit-of-work.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
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
  secretBox: SecretBox;
  now: () => number;
};

/**
 * Collects the contributions of all modules. They are ordered by module rank, regardless of the order of the list.
 * @throws Error with both module names if two modules contribute the same key
 */
export function assemble(
  list: readonly Module[],
  { auth, management, cursors, secretBox, now }: Shared,
): Contributions {
  const modules = list.toSorted((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  refuseDuplicates(modules);
  const permissions = modules.flatMap((module) => module.permissions ?? []).sort(byRole);
  const additions = additionsOf(modules);
  return {
    modules,
    permissions,
    // Lists events about users first. Events about the service come last, although they are contributed by an early
    // module.
    events: registerEventTypes(modules.toReversed().flatMap((module) => module.eventTypes ?? [])),
    navigation: navigationOf(modules.flatMap((module) => module.navigation ?? [])),
    commands: modules.flatMap((module) => module.commands ?? []),
    userData: userDataOf(modules),
    examples: single(modules, 'examples'),
    eventLog: single(modules, 'eventLog'),
    storeEvents: single(modules, 'storeEvents'),
    perkMessages: single(modules, 'perkMessages'),
    addressRetention: single(modules, 'addressRetention'),
    alertChecks: modules.flatMap((module) => module.alertChecks ?? []),
    perkStages: single(modules, 'perkStages'),
    chatChannels: single(modules, 'chatChannels'),
    extensions: extensionsOf(modules),
    auth,
    http: { management, auth, secretBox, cursors, additions },
    management: createManagementClient({
      management,
      permissions,
      cursors,
      additions,
      now,
      propose: single(modules, 'propose'),
    }),
  };
}

/** Sorts permissions by role, lowest privilege first. */
const byRole = (a: PermissionEntry, b: PermissionEntry): number =>
  Number(hasRole(a.role, b.role)) - Number(hasRole(b.role, a.role));

/** Keys that only one module may contribute, by kind of contribution. */
const uniqueKeys: Readonly<Record<string, (module: Module) => readonly string[]>> = {
  module: ({ name }) => [name],
  permission: ({ permissions = [] }) => permissions.map(({ name }) => name),
  'event type': ({ eventTypes = [] }) => eventTypes.map(({ name }) => name),
  'navigation entry': ({ navigation = [] }) => navigation.map(({ key }) => key),
  command: ({ commands = [] }) => commands.map(({ name }) => name),
  'alert check': ({ alertChecks = [] }) => alertChecks.map(({ name }) => name),
  export: ({ userData }) => Object.keys(userData?.exports ?? {}),
  'erasure step': ({ userData = {} }) => singleSteps.filter((step) => userData[step] !== undefined),
  'row addition': ({ rowAdditions = {} }) =>
    Object.entries(rowAdditions).flatMap(([kind, { fields }]) => Object.keys(fields).map((name) => `${kind}.${name}`)),
  'page extension': ({ extensions = {} }) => Object.keys(extensions).filter((key) => !/Cards$/.test(key)),
  contribution: (module) => singleMembers.filter((member) => module[member] !== undefined),
};

const singleSteps = ['findSessions', 'eraseSessions'] as const;
const singleMembers = [
  'examples',
  'propose',
  'eventLog',
  'storeEvents',
  'perkMessages',
  'addressRetention',
  'perkStages',
  'chatChannels',
] as const;

/**
 * Rejects keys that more than one module contributes.
 * @throws Error that identifies both modules and the key
 */
function refuseDuplicates(modules: readonly Module[]): void {
  for (const [kind, keysOf] of Object.entries(uniqueKeys)) {
    const owners = new Map<string, string>();
    for (const module of modules)
      for (const key of keysOf(module)) {
        const owner = owners.get(key);
        if (owner !== undefined)
          throw new Error(`the modules ${owner} and ${module.name} both contribute the ${kind} ${key}`);
        owners.set(key, module.name);
      }
  }
}

/** Returns a contribution that at most one module may have, or null if no module has it. */
const single = <Member extends (typeof singleMembers)[number]>(
  modules: readonly Module[],
  member: Member,
): NonNullable<Module[Member]> | null =>
  modules.map((module) => module[member]).find((contribution) => contribution !== undefined) ?? null;

const extensionsOf = (modules: readonly Module[]): PageExtensions => ({
  ...Object.assign({}, ...modules.map(({ extensions }) => extensions ?? {})),
  campaignCards: modules.flatMap(({ extensions }) => extensions?.campaignCards ?? []),
  offerCards: modules.flatMap(({ extensions }) => extensions?.offerCards ?? []),
});

function additionsOf(modules: readonly Module[]): AllAdditions {
  const gathered: Record<string, Additions> = {};
  for (const [kind, additions] of modules.flatMap(({ rowAdditions = {} }) => Object.entries(rowAdditions)))
    gathered[kind] = bothAdditions(gathered[kind], additions);
  return gathered;
}

/**
 * Collects the erasure and export steps, from the module with the highest rank to the one with the lowest. Rows are
 * locked in this order, too.
 * @throws Error if no module finds or erases sessions
 */
function userDataOf(modules: readonly Module[]): UserDataSteps {
  const parts = modules.flatMap(({ userData }) => userData ?? []);
  const lastFirst = parts.toReversed();
  const { findSessions, eraseSessions }: UserDataPart = Object.assign({}, ...parts);
  if (findSessions === undefined || eraseSessions === undefined)
    throw new Error('no module contributes findSessions or eraseSessions');
  return {
    findSessions,
    eraseSessions,
    eraseBeforeSessions: lastFirst.flatMap((part) => part.eraseBeforeSessions ?? []),
    eraseWithSessions: lastFirst.flatMap((part) => part.eraseWithSessions ?? []),
    eraseOfUser: lastFirst.flatMap((part) => part.eraseOfUser ?? []),
    exports: Object.assign({}, ...parts.map((part) => part.exports ?? {})),
  };
}
