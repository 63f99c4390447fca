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

/** Link of an offer, through which an offerwall was opened. */
export type WallLink = {
  /** User key from the link's session. It is used instead of a user identifier in the request. */
  userKey: string | null;
  /** ID of the offer to show first. */
  offerId: number;
};

/** Surface that shows the offers: an ad unit, or an offerwall, which may have been opened through an offer link. */
type Surface = { kind: 'unit' } | { kind: 'offerwall'; link: WallLink | null };

/** Location and device of an end user. Contains no data that identifies the user. */
type ClientContext = Place & UserAgent;

/** Fetch with all data derived from its request. It is immutable except for the state of its answer. */
export type PendingFetch = {
  readonly snapshot: Snapshot;
  readonly publisher: Publisher;
  readonly request: FetchOffersRequest;
  readonly client: ClientContext;
  readonly theme: Theme | null;
  /** Preferred languages of the user, for the offer copy. */
  readonly language: Wanted;
  /** Name of the placement in reports. */
  readonly placement: string;
  readonly userKey: string | null;
  /** Keys of the same user under earlier peppers. Usually empty. */
  readonly earlierKeys: readonly string[];
  /** Keys under which the publisher may have stored a user profile. Empty if the publisher stores no profiles. */
  readonly profileKeys: ProfileKeys;
  /** Whether this is a dev fetch. Dev fetches are not counted and ignore caps. */
  readonly dev: boolean;
  readonly surface: Surface;
  /** Changes made by the publisher's experiments, or null if no experiment applies. */
  readonly assigned: Assigned | null;
  /** User to be assigned to experiment arms, or null if the publisher has no experiments. */
  readonly subject: Subject | null;
  readonly trace: Trace | null;
  /** Position in a call with several placements, or null for a single fetch. */
  readonly call: CallPlace | null;
  readonly answer: AnswerState;
};

/** State of an answer, which changes until the answer is sent. */
type AnswerState = {
  /** Session ID. It is set by the decision or at the deadline, whichever comes first. */
  sessionId: string | null;
  /** Whether the deadline has passed and an empty response was sent. */
  expired: boolean;
};

/** Position of a fetch in a call with several placements. The fetches of a call must not show the same campaigns. */
type CallPlace = {
  index: number;
  /** For each fetch of the call, the IDs of the campaigns that its latest decision shows. */
  campaignIdsByFetch: (readonly number[])[];
};

/** Data about a user that the publisher has stored. */
export type UserProfile = {
  attributes: ReadonlyMap<string, string>;
  /** Keys of those of the user's audiences that campaigns refer to. */
  audiences: readonly string[];
};

/** Maximum number of offers in an offerwall. */
const maxWallOffers = 500;

export type OpenFetch = (
  publisher: Publisher,
  request: FetchOffersRequest,
  surface: Surface,
  trace?: Trace | null,
) => PendingFetch;

/**
 * Creates a function that derives a fetch from a request. It looks up the publisher and theme in the current snapshot,
 * the user's key, and the client context.
 */
export function createFetchOpener(
  { catalog, geo, now }: { catalog: CatalogStore; geo: Geo; now: () => number },
  userKeys: UserKeys,
): OpenFetch {
  const readClient = createClientContextReader(geo);
  return (caller, request, surface, trace = null) => {
    const snapshot = catalog.current();
    const publisher = snapshot.publishers.get(caller.id) ?? caller;
    const { pubUserId, emailSha256 } = request;
    const identifier = request.adFp ?? pubUserId;
    const link = surface.kind === 'offerwall' ? surface.link : null;
    const userKey = link !== null ? link.userKey : identifier === null ? null : userKeys.of(publisher.id, identifier);
    const earlierKeys = link !== null || identifier === null ? none : userKeys.earlierOf(publisher.id, identifier);
    const historyKeys = userKey === null ? none : [userKey, ...earlierKeys];
    /** Whether the history keys are those of `pub_user_id`, so that it need not be hashed again. */
    const isHashed = link === null && identifier === pubUserId;
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
        ? profileKeysOf(publisher.id, { pubUserId: isHashed ? null : pubUserId, emailSha256 }, historyKeys, userKeys)
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

/** Whether users of the publisher may have stored attributes, or belong to audiences that campaigns refer to. */
const hasProfiles = (publisher: Publisher): boolean =>
  publisher.keepsAttributes || indexOf(publisher).audiences !== null;

/** Returns the changes that the publisher's experiments make to a fetch, or null if none exists. */
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
  return assign(publisher.experiments ?? none, {
    ...subject,
    publisher,
    theme,
    placement,
    testArms: dev ? arms : null,
  });
}

const withCustom = (request: FetchOffersRequest, custom: ReadonlyMap<string, string>): FetchOffersRequest => ({
  ...request,
  custom,
});

/** Derives the other fetches of a call from its first one. All fetches have the same user and time. */
export function openCall(first: PendingFetch, requests: readonly { request: FetchOffersRequest }[]): PendingFetch[] {
  const { publisher, subject, dev } = first;
  const campaignIdsByFetch = requests.map(() => none);
  return requests.map(({ request }, index) => {
    const theme = themeOf(publisher, request);
    const assigned = subject === null ? null : assignedTo(subject, { publisher, request, theme, dev });
    return {
      ...first,
      request: assigned === null ? request : withCustom(request, withArms(request.custom, assigned)),
      theme: assigned === null ? theme : assigned.theme,
      placement: request.placement,
      assigned,
      call: { index, campaignIdsByFetch },
      answer: { sessionId: null, expired: false },
    };
  });
}

/** Records which campaigns a decision shows. Other fetches of the same call must not show them. */
export function noteShown({ call }: PendingFetch, offers: readonly { offer: Offer }[]): void {
  if (call !== null) call.campaignIdsByFetch[call.index] = offers.map(({ offer }) => offer.campaign.id);
}

/**
 * Clears the campaigns recorded for fetches that are about to be decided again. The new decisions then avoid only the
 * campaigns of fetches whose decisions remain valid.
 */
export function forgetShown(batch: Iterable<PendingFetch>): void {
  for (const { call } of batch) if (call !== null) call.campaignIdsByFetch[call.index] = none;
}

/**
 * Creates a function that reads the client context of a request. A country in the request takes precedence over the
 * country of the IP address. The region, city and time zone of the IP address are used only if they are in that country
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

/** Adds the attributes in the user's profile to a request. Values in the request take precedence. */
export function requestWith({ request }: PendingFetch, profile: UserProfile | null): FetchOffersRequest {
  if (profile === null || profile.attributes.size === 0) return request;
  if (request.custom.size === 0) return withCustom(request, profile.attributes);
  const custom = new Map(profile.attributes);
  for (const [name, value] of request.custom) custom.set(name, value);
  return withCustom(request, custom);
}

/**
 * Builds the decision context of a fetch.
 * @param request request to which the attributes in the user's profile have been added
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

const shownElsewhere = ({ index, campaignIdsByFetch }: CallPlace): number[] =>
  campaignIdsByFetch.flatMap((campaignIds, other) => (other === index ? none : campaignIds));

/** Returns the ID of the offer whose link opened the offerwall, or null if none exists. */
export const linkedOfferId = ({ surface }: PendingFetch): number | null =>
  surface.kind === 'offerwall' && surface.link !== null ? surface.link.offerId : null;

/** Returns the requested theme if it exists, or else the placement's theme, or else the default theme. */
function themeOf(publisher: Publisher, { themeId, placement }: FetchOffersRequest): Theme | null {
  const requested = themeId === null ? null : findTheme(publisher, themeId);
  const ofPlacement = publisher.themes.get(publisher.placements.get(placement)?.themeId ?? 0);
  return requested ?? ofPlacement ?? publisher.defaultTheme;
}

/**
 * Whether User Selected Perks is enabled for this response (docs/reference/perks-and-wallet.md#user-selected-perks).
 */
export const isUspOn = ({ publisher, theme, request, surface }: PendingFetch): boolean =>
  surface.kind === 'unit' &&
  publisher.uspEnabled &&
  theme?.unit === 'mou' &&
  theme.uspEnabled &&
  request.pubUserId !== null;
