import { type ProfileKeys, profileKeysOf } from '../../audiences/profile-keys.ts';
import { activeCapsOf } from '../../budgets/caps.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { findTheme } from '../../catalog/themes.ts';
import type { Experiment, Publisher, Snapshot, Theme } from '../../catalog/types.ts';
import { indexOf } from '../../decision/decide.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';
import { type Assigned, assign, type Subject, subjectOf, withArms } from '../../experiments/assign.ts';
import { type Geo, nowhere, type Place } from '../../platform/geo.ts';
import type { Wanted } from '../../platform/i18n/reader.ts';
import { firstTag } from '../../platform/lib/language-tags.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { createUserAgentReader, type UserAgent } from '../../platform/user-agent/client-device.ts';
import type { FetchOffersRequest } from './request.ts';

/** Offer link by which a user opened an offerwall. */
export type WallLink = {
  /** User of the link's session, who replaces an identifier in the request. */
  userKey: string | null;
  /** Offer that is shown first. */
  offerId: number;
};

/** Surface of the offers: a unit, or an offerwall, which may have been opened by an offer's link. */
type Surface = { kind: 'unit' } | { kind: 'offerwall'; link: WallLink | null };

/** Place and device of an end user: request data about a client that does not identify the user. */
type ClientContext = Place & UserAgent;

/** A fetch between its request and its response. */
export type PendingFetch = {
  snapshot: Snapshot;
  publisher: Publisher;
  request: FetchOffersRequest;
  client: ClientContext;
  theme: Theme | null;
  /** Preferred languages of its texts. */
  language: Wanted;
  /** Name of the placement in reports. */
  placement: string;
  userKey: string | null;
  /** Keys of the same user under earlier peppers; usually empty. */
  earlierKeys: readonly string[];
  /** Keys under which the publisher may have stored a profile of the user; empty if it stores none. */
  profileKeys: ProfileKeys;
  /** Keys of the user's audiences, limited to those that campaigns refer to. */
  audiences: readonly string[];
  /** Whether it is a test, which is not counted and ignores caps. */
  dev: boolean;
  surface: Surface;
  /** Changes by its experiments; null if no experiment applies. */
  assigned: Assigned | null;
  /** User that experiments are assigned to; null if the publisher has no experiments. */
  subject: Subject | null;
  /** Id of the session, set at the decision or the deadline, whichever comes first. */
  sessionId: string | null;
  /** Whether the deadline has passed and an empty response was sent. */
  expired: boolean;
  /** Last decision: its input, its start (`performance.now()`) and its duration; null before the first one. */
  decision: { input: DecisionInput; startMs: number; tookMs: number } | null;
  trace: Trace | null;
  /** All fetches of a call with several placements; null for a single fetch. */
  call: readonly PendingFetch[] | null;
  /** Campaigns shown by its last decision, which other fetches of the same call must not show. */
  shownCampaignIds: readonly number[];
};

/** Maximum number of offers of an offerwall. */
const maxWallOffers = 500;

export type OpenFetch = (publisher: Publisher, request: FetchOffersRequest, surface: Surface) => PendingFetch;

/**
 * Creates a function that looks up the data of a request: publisher and theme in the current snapshot, the user's key,
 * and the client's context.
 */
export function createFetchOpener(
  { catalog, geo, now }: { catalog: CatalogStore; geo: Geo; now: () => number },
  userKeys: UserKeys,
): OpenFetch {
  const readClient = createClientContextReader(geo);
  return (caller, request, surface) => {
    const snapshot = catalog.current();
    const publisher = snapshot.publishers.get(caller.id) ?? caller;
    const identifier = request.adFp ?? request.pubUserId;
    const link = surface.kind === 'offerwall' ? surface.link : null;
    const userKey = link !== null ? link.userKey : identifier === null ? null : userKeys.of(publisher.id, identifier);
    const earlierKeys = link !== null || identifier === null ? none : userKeys.earlierOf(publisher.id, identifier);
    const pending: PendingFetch = {
      snapshot,
      publisher,
      request,
      client: readClient(request),
      theme: themeOf(publisher, request),
      language: request.language ?? publisher.language,
      placement: request.placement,
      userKey,
      earlierKeys,
      profileKeys: hasProfiles(publisher)
        ? profileKeysOf(publisher.id, request, userKey === null ? [] : [userKey, ...earlierKeys], userKeys)
        : noProfileKeys,
      audiences: none,
      dev: request.dev || publisher.testMode,
      surface,
      assigned: null,
      subject: null,
      sessionId: null,
      expired: false,
      decision: null,
      trace: null,
      call: null,
      shownCampaignIds: none,
    };
    if (publisher.experiments !== null && link === null) {
      pending.subject = subjectOf(request, (identifier) => userKeys.allOf(publisher.id, identifier), now());
      applyExperiments(pending, publisher.experiments, pending.subject);
    }
    return pending;
  };
}

const none: readonly never[] = [];
const noProfileKeys: ProfileKeys = { all: none, email: null };

/** Whether the user may have attributes, or memberships of audiences that matter. */
const hasProfiles = (publisher: Publisher): boolean =>
  publisher.keepsAttributes || indexOf(publisher).audiences !== null;

function applyExperiments(pending: PendingFetch, experiments: readonly Experiment[], subject: Subject): void {
  const { publisher, theme, placement, request, dev } = pending;
  pending.assigned = assign(experiments, { ...subject, publisher, theme, placement, named: dev ? request.arms : null });
  if (pending.assigned === null) return;
  pending.theme = pending.assigned.theme;
  pending.request = { ...request, custom: withArms(request.custom, pending.assigned) };
}

/** Opens fetches at further placements for the same user at the same time, one for each request. */
export function openCall(first: PendingFetch, requests: readonly { request: FetchOffersRequest }[]): PendingFetch[] {
  const call: PendingFetch[] = requests.map(({ request }) => ({
    ...first,
    request,
    theme: themeOf(first.publisher, request),
    placement: request.placement,
    assigned: null,
  }));
  const { publisher, subject } = first;
  for (const pending of call) {
    pending.call = call;
    if (publisher.experiments !== null && subject !== null) applyExperiments(pending, publisher.experiments, subject);
  }
  return call;
}

/**
 * Resets the shown campaigns before fetches are decided again. The first decisions are then restricted only by fetches
 * of their call that are not decided again.
 */
export function forgetShown(batch: Iterable<PendingFetch>): void {
  for (const pending of batch) pending.shownCampaignIds = none;
}

/**
 * Reads the context of a request's client. A given country wins over the country of the IP address; region, city and
 * time zone of the address then apply only if they lie in the given country
 * (docs/reference/fetch-offers.md#request-body).
 */
function createClientContextReader(geo: Geo): (request: FetchOffersRequest) => ClientContext {
  const readUserAgent = createUserAgentReader();
  return ({ ip, country, userAgent }) => {
    const located = geo(ip);
    const place = country === null || located.country === country ? located : { ...nowhere, country };
    const { device, os, browser, platform } = readUserAgent(userAgent);
    const { region, city, postalCode, timeZone } = place;
    return { country: place.country, region, city, postalCode, timeZone, device, os, browser, platform };
  };
}

/** Decision context of a fetch. */
export function contextOf(pending: PendingFetch, nowMs: number): DecisionContext {
  const { request, client, surface } = pending;
  const { country, region, city, postalCode, timeZone, platform, device, os, browser } = client;
  const { assigned } = pending;
  return {
    surface: surface.kind,
    placement: pending.placement,
    platform,
    device,
    os,
    browser,
    language: request.language === null ? null : firstTag(request.language.key),
    geo: { country, region, city, postalCode, timeZone },
    custom: request.custom,
    audiences: pending.audiences,
    nowMs,
    userKey: pending.userKey,
    loyalty: request.loyalty,
    onlyWithCreative: request.onlyWithCreative,
    campaignId: request.campaignId,
    count: surface.kind === 'unit' ? (request.count ?? assigned?.count ?? null) : maxWallOffers,
    shownElsewhere: pending.call === null ? null : shownElsewhere(pending, pending.call),
    arm: assigned?.rules ?? null,
    dev: pending.dev,
  };
}

const shownElsewhere = (pending: PendingFetch, call: readonly PendingFetch[]): number[] =>
  call.flatMap((other) => (other === pending ? none : other.shownCampaignIds));

/** Offer whose link opened the offerwall, or null. */
export const linkedOfferId = ({ surface }: PendingFetch): number | null =>
  surface.kind === 'offerwall' && surface.link !== null ? surface.link.offerId : null;

/** Theme of the request if the publisher has it, else that of the placement, else the default. */
function themeOf(publisher: Publisher, { themeId, placement }: FetchOffersRequest): Theme | null {
  const requested = themeId === null ? null : findTheme(publisher, themeId);
  const ofPlacement = publisher.themes.get(publisher.placements.get(placement)?.themeId ?? 0);
  return requested ?? ofPlacement ?? publisher.defaultTheme;
}

/** Whether User Selected Perks is on in this response (docs/reference/perks-and-wallet.md#user-selected-perks). */
export const isUspOn = ({ publisher, theme, request, surface }: PendingFetch): boolean =>
  surface.kind === 'unit' &&
  publisher.uspEnabled &&
  theme?.unit === 'mou' &&
  theme.uspEnabled &&
  request.pubUserId !== null;

/** Whether total caps apply. */
export const hasTotalCaps = ({ snapshot, publisher, dev }: PendingFetch): boolean =>
  !dev && activeCapsOf(snapshot).hasTotalCaps(publisher.id);

/** Whether frequency caps apply to the user. */
export const hasFrequencyCaps = ({ snapshot, publisher, userKey, dev }: PendingFetch): boolean =>
  !dev && userKey !== null && activeCapsOf(snapshot).hasFrequencyCaps(publisher.id);

/** Whether the user's profile must be read by a separate statement, because no history is read. */
export const needsProfileAlone = (pending: PendingFetch): boolean =>
  pending.profileKeys.all.length > 0 && !hasFrequencyCaps(pending);
