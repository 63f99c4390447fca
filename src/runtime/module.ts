import type { TSchema } from '@sinclair/typebox';
import type { AlertCheck } from '../alerts/kinds.ts';
import type { PageExtensions } from '../catalog/pages.ts';
import type { EventLog, StoreEvents } from '../catalog/types.ts';
import type { Command } from '../command-line/command.ts';
import type { Additions } from '../management/additions.ts';
import type { Proposal } from '../management/approval.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { PermissionEntry, Work } from '../management/unit-of-work.ts';
import type { PerkMessages } from '../perks/perk-messages.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { HotRoutes } from '../platform/http/hot-routes.ts';
import type { Job } from '../platform/jobs.ts';
import type { UserDataPart } from '../platform/user-data.ts';
import type { AddressRetention } from '../privacy/page-routes.ts';
import type { UserDataSteps } from '../privacy/steps.ts';
import type { LiveExamples } from '../reference/live-examples.ts';
import type { ChatChannels } from '../reports/chat-channels.ts';
import type { CountPerkStages } from '../reports/perk-stages.ts';
import type { AssetUrl, Shell } from '../shell/layout.ts';
import type { NavEntry, Navigation } from '../shell/navigation.ts';
import type { EventType, EventTypes } from '../webhooks/events.ts';

/** Contributions of a module (docs/architecture.md#modules). All of them are optional except the name and rank. */
export type Module = {
  name: string;
  /**
   * Rank of the module, independent of the order of the module list. Routes are documented from the lowest rank to the
   * highest. Erasure and retention start with the highest rank, because the rows of a module refer to rows of modules
   * with lower ranks.
   */
  rank: number;
  /** Permissions for API keys and users. */
  permissions?: readonly PermissionEntry[];
  /** Events that publishers can subscribe to. */
  eventTypes?: readonly EventType[];
  navigation?: readonly NavEntry[];
  /**
   * Commands for the `perkwire` command line. They must also be listed in src/commands.ts, because the help text must
   * not create modules.
   */
  commands?: readonly Command[];
  /** Stores a change that was proposed on a page and needs approval. Only one module contributes it. */
  propose?: (work: Work, proposal: Proposal) => Promise<{ id: number; state: string }>;
  /** Extensions of the catalogue pages. */
  extensions?: Partial<PageExtensions>;
  /** Computed fields for rows of other modules, by kind of row. */
  rowAdditions?: Readonly<Record<string, Additions>>;
  /** Event log that accepts events before PostgreSQL stores them. Only one module contributes it. */
  eventLog?: EventLog;
  /** Stores the events from the event log in PostgreSQL. Only one module contributes it. */
  storeEvents?: StoreEvents;
  /** Stores messages to users about their perks. Only one module contributes it. */
  perkMessages?: PerkMessages;
  /** Retention of users' e-mail addresses. Only one module contributes it. */
  addressRetention?: AddressRetention;
  /** Checks that raise alerts when they find a problem. */
  alertChecks?: readonly AlertCheck[];
  /** Counts the sessions at each stage of the perk funnel. Only one module contributes it. */
  perkStages?: CountPerkStages;
  /** Sends reports to chat channels. Only one module contributes it. */
  chatChannels?: ChatChannels;
  /** The module's steps in the erasure and export of user data. */
  userData?: UserDataPart;
  /** Deletes expired rows from the module's tables. */
  retention?: RetentionStep;
  /** Schemas to which the module's routes refer by `$id`. */
  schemas?: readonly TSchema[];
  /** Current values for the examples in the API reference. Only the demo sets them. */
  examples?: LiveExamples;
  /** Prepares the app before any routes are registered. */
  prepare?: (app: App, contributions: Contributions) => Promise<void>;
  /** Registers routes that processes of every role serve. */
  probes?: (app: App, contributions: Contributions) => Promise<void>;
  /** Registers the most frequently requested public routes, in a scope without hooks. */
  hotRoutes?: (scope: App, hot: HotRoutes, contributions: Contributions) => Promise<void>;
  /** Adds hooks to all other public routes. */
  observe?: (open: App) => void;
  /** Registers routes that pages of any origin may call. */
  publicRoutes?: (open: App, contributions: Contributions) => Promise<void>;
  /** Adds hooks to all routes that are registered later. */
  observeRoutes?: (app: App) => void;
  routes?: (app: App, contributions: Contributions) => Promise<void>;
  /** Registers dashboard pages that require no session. */
  openPages?: (app: App, shell: Shell, contributions: Contributions) => Promise<void>;
  pages?: (app: App, shell: Shell, contributions: Contributions) => void;
  /** Registers pages that other websites show in a frame. They have their own sessions. */
  framedPages?: (app: App, asset: AssetUrl, contributions: Contributions) => Promise<void>;
  jobs?: (contributions: Contributions) => readonly Job[];
  /** Runs when the process ends, before `close` of the modules created earlier. */
  close?: () => Promise<void>;
};

/** Contributions of all modules. They are complete before the first route is registered and the first job starts. */
export type Contributions = {
  modules: readonly Module[];
  permissions: readonly PermissionEntry[];
  events: EventTypes;
  navigation: Navigation;
  commands: readonly Command[];
  userData: UserDataSteps;
  /** Current values for the API reference examples, or null if this is not the demo. */
  examples: LiveExamples | null;
  /** Event log, or null if events are written directly to PostgreSQL. */
  eventLog: EventLog | null;
  storeEvents: StoreEvents | null;
  perkMessages: PerkMessages | null;
  addressRetention: AddressRetention | null;
  alertChecks: readonly AlertCheck[];
  perkStages: CountPerkStages | null;
  chatChannels: ChatChannels | null;
  extensions: PageExtensions;
  auth: Authenticator<unknown>;
  /** Services that management API routes use. */
  http: ManagementHttp;
  /** Management API client that the dashboard pages use. */
  management: ManagementClient;
};
