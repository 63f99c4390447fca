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
import type { Shell } from '../shell/layout.ts';
import type { NavEntry, Navigation } from '../shell/navigation.ts';
import type { EventType, EventTypes } from '../webhooks/events.ts';

/** Contributions of a module; all of them are optional (docs/architecture.md#modules). */
export type Module = {
  name: string;
  /**
   * Rank of the module, whatever the order of their list. Routes are documented from the lowest rank up. Erasure and
   * retention start with the highest rank, because rows of a module refer to rows of modules with lower ranks.
   */
  rank: number;
  /** Permissions for keys and users. */
  permissions?: readonly PermissionEntry[];
  /** Events that publishers can subscribe to. */
  eventTypes?: readonly EventType[];
  navigation?: readonly NavEntry[];
  /** Commands of `perkwire`. src/commands.ts lists them as well, because its help must not create modules. */
  commands?: readonly Command[];
  /** Stores a proposed change that needs approval, for pages. One module has it. */
  propose?: (work: Work, proposal: Proposal) => Promise<{ id: number; state: string }>;
  /** Additions to the pages of the catalogue. */
  extensions?: Partial<PageExtensions>;
  /** Computed fields of rows of other modules, by the kind of row. */
  rowAdditions?: Readonly<Record<string, Additions>>;
  /** Takes events before PostgreSQL stores them. One module has it. */
  eventLog?: EventLog;
  /** Stores the events of the event log. One module has it. */
  storeEvents?: StoreEvents;
  /** Stores messages to users about their perks. One module has it. */
  perkMessages?: PerkMessages;
  /** Retention of e-mail addresses of users. One module has it. */
  addressRetention?: AddressRetention;
  /** Checks for states that people are alerted of. */
  alertChecks?: readonly AlertCheck[];
  /** Counts the stages of perks in the funnel. One module has it. */
  perkStages?: CountPerkStages;
  /** Sends reports to chats. One module has it. */
  chatChannels?: ChatChannels;
  /** Its part in erasures and exports. */
  userData?: UserDataPart;
  /** Deletes expired rows of its tables. */
  retention?: RetentionStep;
  /** Schemas that its routes refer to by `$id`. */
  schemas?: readonly TSchema[];
  /** Sources of the examples in the API reference, in the demo. */
  examples?: LiveExamples;
  /** Registered before all routes. */
  prepare?: (app: App, contributions: Contributions) => Promise<void>;
  /** Routes of processes of every role. */
  probes?: (app: App, contributions: Contributions) => Promise<void>;
  /** The most frequent public routes, in a scope without hooks. */
  hotRoutes?: (scope: App, hot: HotRoutes, contributions: Contributions) => Promise<void>;
  /** Hooks of all other public routes. */
  observe?: (open: App) => void;
  /** Routes that pages of any origin may call. */
  publicRoutes?: (open: App, contributions: Contributions) => Promise<void>;
  /** Hooks of the routes that are registered after these. */
  observeRoutes?: (app: App) => void;
  routes?: (app: App, contributions: Contributions) => Promise<void>;
  /** Dashboard pages that need no session. */
  openPages?: (app: App, shell: Shell, contributions: Contributions) => Promise<void>;
  pages?: (app: App, shell: Shell, contributions: Contributions) => void;
  jobs?: (contributions: Contributions) => readonly Job[];
  /** Runs when the process ends, before `close` of earlier modules. */
  close?: () => Promise<void>;
};

/** Contributions of all modules, complete before the first route is registered or job started. */
export type Contributions = {
  modules: readonly Module[];
  permissions: readonly PermissionEntry[];
  events: EventTypes;
  navigation: Navigation;
  commands: readonly Command[];
  userData: UserDataSteps;
  /** Null outside of the demo. */
  examples: LiveExamples | null;
  /** Event log; null if events go straight to PostgreSQL. */
  eventLog: EventLog | null;
  storeEvents: StoreEvents | null;
  perkMessages: PerkMessages | null;
  addressRetention: AddressRetention | null;
  alertChecks: readonly AlertCheck[];
  perkStages: CountPerkStages | null;
  chatChannels: ChatChannels | null;
  extensions: PageExtensions;
  auth: Authenticator<unknown>;
  /** For routes of the management API. */
  http: ManagementHttp;
  /** For pages. */
  management: ManagementClient;
};
