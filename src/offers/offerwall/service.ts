import { eventKinds } from '../../catalog/event-kinds.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import { isServedTo } from '../../catalog/snapshot/provisioning.ts';
import type { Offer, Publisher, Theme } from '../../catalog/snapshot/types.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { AppError } from '../../platform/errors.ts';
import { checkToken } from '../../platform/security/check-tracking-token.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import type { WallLink } from '../fetch/pending-fetch.ts';
import type { Client, FetchOffersRequest } from '../fetch/request.ts';
import type { OfferService } from '../fetch/service.ts';
import { createCursors, cursorPurpose } from './cursor.ts';
import { categoriesOf, filterOffers, type WallFilter } from './filter.ts';
import { openLink, requireOfferwall } from './links.ts';
import { findKnownSession, type KnownSession } from './sessions.ts';

/** Which part of a wall is wanted. */
export type WallWish = {
  /** Offers of one page (count). */
  limit: number;
  filter: WallFilter;
  /** As an earlier page gave it; null: the beginning of a new wall. */
  cursor: string | null;
};

/**
 * The offerwall (docs/interface.md#offerwall). Errors: offerwall_not_enabled, invalid_token, invalid_cursor,
 * unavailable.
 */
export type Offerwall = {
  /** A page of all offers a user may see, in a session of its own. @returns the answer's JSON */
  browse: (publisher: Publisher, request: () => FetchOffersRequest, wish: WallWish) => Promise<Buffer>;
  /** The same for whoever holds the link of an offer: for the user of its session, with that offer first. */
  browseByLink: (token: unknown, client: Client, wish: WallWish) => Promise<Buffer>;
};

/** A wall under way: its session, and what of it can still be shown. */
type Wall = {
  publisher: Publisher;
  theme: Theme | null;
  session: Pick<KnownSession, 'id' | 'pubUserId' | 'dev' | 'macros'>;
  /** In the order of the session; null: gone meanwhile. */
  offers: readonly (Offer | null)[];
  /** An offer shown before all others, by the token of the session that led here. */
  linked: { offer: Offer; token: string } | null;
};

export function createOfferwall(deps: CatalogDeps, offers: OfferService): Offerwall {
  const { catalog, pool, dbHealth, config, now } = deps;
  const guarded = createFailFast(dbHealth);
  const cursors = createCursors(createSigner(config.tokenKeys, cursorPurpose));

  async function goOn(publisher: Publisher, cursor: string): Promise<{ wall: Wall; offset: number }> {
    const at = cursors.read(cursor, now());
    const session =
      at?.publisherId === publisher.id ? await guarded(() => findKnownSession(pool, publisher.id, at.sessionId)) : null;
    if (at === null || session === null) throw new AppError('invalid_cursor');
    const known = catalog.current().offers;
    const found = session.offerIds.map((id) => {
      const offer = known.get(id);
      return offer !== undefined && isShown(offer, publisher) ? offer : null;
    });
    return {
      wall: { publisher, theme: themeOf(publisher, session.themeId), session, offers: found, linked: null },
      offset: at.offset,
    };
  }

  async function open(publisher: Publisher, request: FetchOffersRequest, link: WallLink | null): Promise<Wall> {
    const { session, theme } = await offers.decideWall(publisher, request, link);
    return { publisher, theme, session, offers: session.offers, linked: null };
  }

  async function openByLink(token: unknown, client: Client): Promise<Wall> {
    const { claims, publisher, token: text } = openLink(deps, token);
    const session = await guarded(() => findKnownSession(pool, publisher.id, claims.sessionId));
    if (session === null) throw new AppError('invalid_token');
    const userKey = client.gpc ? null : session.userKey;
    const wall = await open(publisher, requestLike(session, client), { userKey, offerId: claims.offerId });
    const offer = catalog.current().offers.get(claims.offerId);
    const mayLead =
      offer !== undefined &&
      isShown(offer, publisher) &&
      !wall.offers.includes(offer) &&
      checkToken(claims, now(), eventKinds.impression.token);
    return mayLead ? { ...wall, linked: { offer, token: text } } : wall;
  }

  async function render(
    { publisher, theme, session, offers: all, linked }: Wall,
    offset: number,
    { limit, filter }: WallWish,
  ): Promise<Buffer> {
    const matching = new Set(
      filterOffers(
        all.filter((offer) => offer !== null),
        filter,
      ),
    );
    const page: { offer: Offer; position: number; token?: string }[] = [];
    if (linked !== null && offset === 0 && filterOffers([linked.offer], filter).length > 0)
      page.push({ ...linked, position: 0 });
    let next = offset;
    for (; next < all.length && page.length < limit; next += 1) {
      const offer = all[next] as Offer | null;
      if (offer !== null && matching.has(offer)) page.push({ offer, position: next + 1 });
    }
    const hasMore = all.slice(next).some((offer) => offer !== null && matching.has(offer));
    const cursorAt = (at: number): string =>
      cursors.mint({ publisherId: publisher.id, sessionId: session.id, offset: at });
    return offers.renderWall({
      publisher,
      theme,
      sessionId: session.id,
      dev: session.dev,
      hasUser: session.pubUserId !== null,
      macros: session.macros,
      page,
      extra: {
        total: matching.size + (linked === null ? 0 : filterOffers([linked.offer], filter).length),
        next_cursor: hasMore ? cursorAt(next) : null,
        first_cursor: cursorAt(0),
        categories: categoriesOf(all.filter((offer) => offer !== null)),
      },
    });
  }

  return {
    browse: async (publisher, request, wish) => {
      requireOfferwall(publisher);
      if (wish.cursor === null) return render(await open(publisher, request(), null), 0, wish);
      const { wall, offset } = await goOn(publisher, wish.cursor);
      return render(wall, offset, wish);
    },
    browseByLink: async (token, client, wish) => {
      if (wish.cursor === null) return render(await openByLink(token, client), 0, wish);
      const { wall, offset } = await goOn(openLink(deps, token).publisher, wish.cursor);
      return render(wall, offset, wish);
    },
  };
}

const isShown = (offer: Offer, publisher: Publisher): boolean =>
  isServedTo(offer, publisher.id) && offer.offerwallEnabled;

const themeOf = (publisher: Publisher, id: number | null): Theme | null =>
  (id === null ? undefined : publisher.themes.get(id)) ?? publisher.defaultTheme;

/** A request as that of the session, made from the device that opens the link. */
const requestLike = (session: KnownSession, { ip, userAgent, gpc }: Client): FetchOffersRequest => ({
  placement: session.placement,
  userAgent,
  ip,
  country: session.country,
  consent: !gpc,
  adFp: null,
  pubUserId: gpc ? null : session.pubUserId,
  timeoutMs: null,
  dev: session.dev,
  loyalty: 'also',
  onlyWithCreative: false,
  campaignId: null,
  themeId: session.themeId,
  custom: session.custom,
});
