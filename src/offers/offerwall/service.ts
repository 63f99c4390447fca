import type pg from 'pg';
import { eventKinds } from '../../catalog/event-kinds.ts';
import { isServedTo, localise } from '../../catalog/provisioning.ts';
import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import { type Wanted, wantedOf } from '../../platform/i18n/reader.ts';
import { checkToken, createSigner } from '../../platform/security/tracking-token.ts';
import type { WallLink } from '../fetch/pending-fetch.ts';
import type { Client, FetchOffersRequest } from '../fetch/request.ts';
import type { WallCalls } from '../fetch/service.ts';
import { createCursors, cursorPurpose } from './cursor.ts';
import { type LinkReader, type OpenedLink, openLink, requireOfferwall } from './links.ts';
import { findWallSession, requestLike } from './sessions.ts';
import { selectPage, type Wall, type WallPageRequest } from './wall.ts';

/**
 * Offerwall calls (docs/reference/fetch-offers.md#offerwall). Errors: offerwall_not_enabled, invalid_token,
 * invalid_cursor, unavailable.
 */
export type Offerwall = {
  /**
   * Returns a page of all offers that a user may see. A call without a cursor starts a new session.
   * @returns the response as JSON
   */
  browse: (publisher: Publisher, request: () => FetchOffersRequest, page: WallPageRequest) => Promise<Buffer>;
  /**
   * Returns a page for an offer link. It contains the offers for the user of the link's session, starting with the
   * linked offer.
   */
  browseByLink: (token: unknown, client: Client, page: WallPageRequest) => Promise<Buffer>;
};

export type OfferwallSources = LinkReader & {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  offers: WallCalls;
};

export function createOfferwall({ pool, dbHealth, config, offers, ...links }: OfferwallSources): Offerwall {
  const { catalog, now } = links;
  const failFast = createFailFast(dbHealth);
  const cursors = createCursors(createSigner(config.tokenKeys, cursorPurpose));

  async function resume(publisher: Publisher, cursor: string): Promise<{ wall: Wall; offset: number }> {
    const at = cursors.read(cursor, now());
    const session =
      at?.publisherId === publisher.id ? await failFast(() => findWallSession(pool, publisher.id, at.sessionId)) : null;
    if (at === null || session === null) throw new AppError('invalid_cursor');
    const snapshotOffers = catalog.current().offers;
    const sessionOffers = session.offerIds.map((id) => {
      const offer = snapshotOffers.get(id);
      return offer !== undefined && isShown(offer, publisher) ? inLanguage(session.language, offer, publisher) : null;
    });
    return {
      wall: { publisher, theme: themeOf(publisher, session.themeId), session, offers: sessionOffers, linked: null },
      offset: at.offset,
    };
  }

  async function open(publisher: Publisher, request: FetchOffersRequest, link: WallLink | null): Promise<Wall> {
    const { session, theme, assigned } = await offers.decideWall(publisher, request, link);
    const wall = { publisher, theme, session, offers: session.offers, linked: null };
    return assigned === null ? wall : { ...wall, experiments: assigned.announced };
  }

  async function openByLink({ claims, publisher }: OpenedLink, client: Client): Promise<Wall> {
    const session = await failFast(() => findWallSession(pool, publisher.id, claims.sessionId));
    if (session === null) throw new AppError('invalid_token');
    const userKey = client.gpc ? null : session.userKey;
    return open(publisher, requestLike(session, client), { userKey, offerId: claims.offerId });
  }

  /**
   * Adds the linked offer to an offerwall. This is done for every page, because a changed filter starts again from the
   * first page's cursor.
   */
  function withLinked(wall: Wall, { claims, publisher, token }: OpenedLink): Wall {
    const offer = catalog.current().offers.get(claims.offerId);
    if (offer === undefined || !isShown(offer, publisher)) return wall;
    if (wall.offers.some((wallOffer) => wallOffer?.id === offer.id)) return wall;
    return checkToken(claims, now(), eventKinds.impression.token)
      ? { ...wall, linked: { offer: inLanguage(wall.session.language, offer, publisher), token } }
      : wall;
  }

  async function render(wall: Wall, offset: number, pageRequest: WallPageRequest): Promise<Buffer> {
    const { publisher, theme, session, experiments = [] } = wall;
    const { page, total, next, categories } = selectPage(wall, offset, pageRequest);
    const cursorAt = (at: number): string =>
      cursors.mint({ publisherId: publisher.id, sessionId: session.id, offset: at });
    return offers.renderWall({
      publisher,
      theme,
      sessionId: session.id,
      dev: session.dev,
      hasUser: session.pubUserId !== null,
      macros: session.macros,
      language: languageOf(publisher, session.language),
      page,
      extra: {
        total,
        next_cursor: next === null ? null : cursorAt(next),
        first_cursor: cursorAt(0),
        categories,
        ...(experiments.length === 0 ? {} : { experiments }),
      },
    });
  }

  return {
    browse: async (publisher, request, page) => {
      requireOfferwall(publisher);
      if (page.cursor === null) return render(await open(publisher, request(), null), 0, page);
      const { wall, offset } = await resume(publisher, page.cursor);
      return render(wall, offset, page);
    },
    browseByLink: async (token, client, page) => {
      const opened = openLink(links, token);
      await catalog.ready(opened.publisher.id);
      // Open the link again, because the snapshot may have been replaced in the meantime.
      const link = openLink(links, token);
      if (page.cursor === null) return render(withLinked(await openByLink(link, client), link), 0, page);
      const { wall, offset } = await resume(link.publisher, page.cursor);
      return render(withLinked(wall, link), offset, page);
    },
  };
}

const isShown = (offer: Offer, publisher: Publisher): boolean => isServedTo(offer, publisher) && offer.offerwallEnabled;

/**
 * Returns the languages for a session.
 * @param tag language stored in the session; null means the publisher's language
 */
const languageOf = ({ language }: Publisher, tag: string | null): Wanted => (tag === null ? language : wantedOf(tag));

const inLanguage = (tag: string | null, offer: Offer, publisher: Publisher): Offer =>
  localise(offer, languageOf(publisher, tag), publisher);

const themeOf = (publisher: Publisher, id: number | null): Theme | null =>
  (id === null ? undefined : publisher.themes.get(id)) ?? publisher.defaultTheme;
