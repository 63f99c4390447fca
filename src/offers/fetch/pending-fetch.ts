import { type ProfileKeys, profileKeysOf } from '../../audiences/profile-keys.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { findTheme } from '../../catalog/themes.ts';
import type { Offer, Publisher, Snapshot, Theme } from '../../catalog/types.ts';
import { indexOf } from '../../decision/decide.ts';
import type { DecisionContext } from '../../decision/types.ts';
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

/** A fetch with all that its request determines. It never changes; only the state of its answer does. */
export type PendingFetch = {
  readonly snapshot: Snapshot;
  readonly publisher: Publisher;
  readonly request: FetchOffersRequest;
  readonly client: ClientContext;
  readonly theme: Theme | null;
  /** Preferred languages of its texts. */
  readonly language: Wanted;
  /** Name of the placement in reports. */
  readonly placement: string;
  readonly userKey: string | null;
  /** Keys of the same user under earlier peppers; usually empty. */
  readonly earlierKeys: readonly string[];
  /** Keys under which the publisher may have stored a profile of the user; empty if it stores none. */
  readonly profileKeys: ProfileKeys;
  /** Whether it is a test, which is not counted and ignores caps. */
  readonly dev: boolean;
  readonly surface: Surface;
  /** Changes by its experiments; null if no experiment applies. */
  readonly assigned: Assigned | null;
  /** User that experiments are assigned to; null if the publisher has no experiments. */
  readonly subject: Subject | null;
  readonly trace: Trace | null;
  /** Its place in a call with several placements; null for a single fetch. */
  readonly call: CallPlace | null;
  readonly answer: AnswerState;
};

/** State of an answer, which changes until it is sent. */
type AnswerState = {
  /** Id of the session, set at the decision or the deadline, whichever comes first. */
  sessionId: string | null;
  /** Whether the deadline has passed and an empty response was sent. */
  expired: boolean;
};

/** Place of a fetch in a call. Fetches of a call must not show the same campaigns. */
type CallPlace = {
  index: number;
  /** Campaigns shown by the last decision of each fetch of the call. */
  shown: (readonly number[])[];
};

/** Data that the publisher has stored for the user of a fetch. */
export type UserProfile = {
  attributes: ReadonlyMap<string, string>;
  /** Keys of the user's audiences, limited to those that campaigns refer to. */
  audiences: readonly string[];
};

/** Maximum number of offers of an offerwall. */
const maxWallOffers = 500;

export type OpenFetch = (
  publisher: Publisher,
  request: FetchOffersRequest,
  surface: Surface,
  trace?: Trace | null,
) => PendingFetch;

/**
 * Creates a function that looks up the data of a request: publisher and theme in the current snapshot, the user's key,
 * and the client's context.
 */
export function createFetchOpener(
  { catalog, geo, now }: { catalog: CatalogStore; geo: Geo; now: () => number },
  userKeys: UserKeys,
): OpenFetch {
  const readClient = createClientContextReader(geo);
  return (caller, request, surface, trace = null) => {
    const snapshot = catalog.current();
    const publisher = snapshot.publishers.get(caller.id) ?? caller;
    const identifier = request.adFp ?? request.pubUserId;
    const link = surface.kind === 'offerwall' ? surface.link : null;
    const userKey = link !== null ? link.userKey : identifier === null ? null : userKeys.of(publisher.id, identifier);
    const earlierKeys = link !== null || identifier === null ? none : userKeys.earlierOf(publisher.id, identifier);
    const dev = request.dev || publisher.testMode;
    const theme = themeOf(publisher, request);
    const subject =
      publisher.experiments !== null && link === null
        ? subjectOf(request, (identifier) => userKeys.allOf(publisher.id, identifier), now())
        : null;
    const assigned = subject === null ? null : assignedTo(subject, { publisher, request, theme, dev });
    return {
      snapshot,
      publisher,
      request: assigned === null ? request : withCustom(request, withArms(request.custom, assigned)),
      client: readClient(request),
      theme: assigned === null ? theme : assigned.theme,
      language: request.language ?? publisher.language,
      placement: request.placement,
      userKey,
      earlierKeys,
      profileKeys: hasProfiles(publisher)
        ? profileKeysOf(publisher.id, request, userKey === null ? [] : [userKey, ...earlierKeys], userKeys)
        : noProfileKeys,
      dev,
      surface,
      assigned,
      subject,
      trace,
      call: null,
      answer: { sessionId: null, expired: false },
    };
  };
}

const none: readonly never[] = [];
const noProfileKeys: ProfileKeys = { all: none, email: null };

/** Whether the user may have attributes, or memberships of audiences that matter. */
const hasProfiles = (publisher: Publisher): boolean =>
  publisher.keepsAttributes || indexOf(publisher).audiences !== null;

/** Changes of a fetch by the experiments of its publisher, or null. */
function assignedTo(
  subject: Subject,
  {
    publisher,
    request,
    theme,
    dev,
  }: { publisher: Publisher; request: FetchOffersRequest; theme: Theme | null; dev: boolean },
): Assigned | null {
  const { placement, arms } = request;
  return assign(publisher.experiments ?? none, { ...subject, publisher, theme, placement, named: dev ? arms : null });
}

const withCustom = (request: FetchOffersRequest, custom: ReadonlyMap<string, string>): FetchOffersRequest => ({
  ...request,
  custom,
});

/** Opens fetches at further placements for the same user at the same time, one for each request. */
export function openCall(first: PendingFetch, requests: readonly { request: FetchOffersRequest }[]): PendingFetch[] {
  const { publisher, subject, dev } = first;
  const shown = requests.map(() => none);
  return requests.map(({ request }, index) => {
    const theme = themeOf(publisher, request);
    const assigned = subject === null ? null : assignedTo(subject, { publisher, request, theme, dev });
    return {
      ...first,
      request: assigned === null ? request : withCustom(request, withArms(request.custom, assigned)),
      theme: assigned === null ? theme : assigned.theme,
      placement: request.placement,
      assigned,
      call: { index, shown },
      answer: { sessionId: null, expired: false },
    };
  });
}

/** Records the campaigns that a decision shows, which other fetches of the same call must not show. */
export function noteShown({ call }: PendingFetch, offers: readonly { offer: Offer }[]): void {
  if (call !== null) call.shown[call.index] = offers.map(({ offer }) => offer.campaign.id);
}

/**
 * Resets the shown campaigns before fetches are decided again. The first decisions are then restricted only by fetches
 * of their call that are not decided again.
 */
export function forgetShown(batch: Iterable<PendingFetch>): void {
  for (const { call } of batch) if (call !== null) call.shown[call.index] = none;
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

/** The request with the attributes of the user's profile. Values of the request take precedence. */
export function requestWith({ request }: PendingFetch, profile: UserProfile | null): FetchOffersRequest {
  if (profile === null || profile.attributes.size === 0) return request;
  return withCustom(request, new Map([...profile.attributes, ...request.custom]));
}

/**
 * Decision context of a fetch.
 * @param request with the attributes of the profile
 */
export function contextOf(
  pending: PendingFetch,
  request: FetchOffersRequest,
  profile: UserProfile | null,
  nowMs: number,
): DecisionContext {
  const { client, surface, assigned } = pending;
  const { country, region, city, postalCode, timeZone, platform, device, os, browser } = client;
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
    audiences: profile === null ? none : profile.audiences,
    nowMs,
    userKey: pending.userKey,
    loyalty: request.loyalty,
    onlyWithCreative: request.onlyWithCreative,
    campaignId: request.campaignId,
    count: surface.kind === 'unit' ? (request.count ?? assigned?.count ?? null) : maxWallOffers,
    shownElsewhere: pending.call === null ? null : shownElsewhere(pending.call),
    arm: assigned?.rules ?? null,
    dev: pending.dev,
  };
}

const shownElsewhere = ({ index, shown }: CallPlace): number[] =>
  shown.flatMap((campaignIds, other) => (other === index ? none : campaignIds));

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
