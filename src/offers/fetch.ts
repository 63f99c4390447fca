import { randomInt } from 'node:crypto';
import type { Offer, Publisher, Theme } from '../catalog/types.ts';
import { createSurroundings } from '../context/surroundings.ts';
import { createBatcher } from '../db/batcher.ts';
import { createStoreGuard } from '../db/store-guard.ts';
import { decide as decideOffers } from '../decision/decide.ts';
import { nothingLearnt } from '../decision/types.ts';
import type { Deps } from '../deps.ts';
import { storeUnavailable } from '../errors.ts';
import { createUserKeys } from '../security/user-key.ts';
import { newSessionId } from '../session-id.ts';
import { createAnswerPool } from './answer-pool.ts';
import { within } from './deadline.ts';
import { type MacroValues, macroNames, macroValuesOf } from './macros.ts';
import { createPlacements } from './placements.ts';
import { createQrCodes } from './qr.ts';
import { createRenderer, type Renderer } from './render.ts';
import type { FetchOffersRequest } from './request.ts';
import { emptySessions, insertSessions, loadOptOuts, type SessionRecord } from './sessions.ts';

/** Answers fetch-offers: decides, stores the session, renders. */
export type OfferService = {
  /** @returns the answer's JSON, after the session is committed; to be given back by `release` when it is sent */
  fetch: (publisher: Publisher, request: FetchOffersRequest) => Promise<Buffer>;
  /** Decides for an offerwall: all its offers, in a session that is committed when this resolves. Rendered page by page. */
  decideWall: (
    publisher: Publisher,
    request: FetchOffersRequest,
    known: KnownVisitor,
  ) => Promise<{ session: SessionRecord; theme: Theme | null }>;
  renderWall: Renderer['renderWall'];
  release: (answer: Buffer) => void;
  drain: () => Promise<void>;
};

/** What an earlier session says of whoever opens an offerwall. */
export type KnownVisitor = {
  /** Instead of the hash of an identifier in the request. */
  userKey?: string | null;
  /** The offer that led there comes first. */
  first?: number;
};

/** Most offers of one offerwall (count). */
const maxWallOffers = 500;

type Item = {
  publisher: Publisher;
  request: FetchOffersRequest;
  theme: Theme | null;
  limit: number;
  placement: string;
  userKey: string | null;
  /** The session's id, from the decision or the deadline on, whichever comes first. */
  sessionId: string | null;
  /** The deadline has passed and an empty answer is out. */
  expired: boolean;
  /** For an offerwall; null: for a unit. */
  wall: KnownVisitor | null;
  /** What was decided for an offerwall, which is rendered later. */
  decided: SessionRecord | null;
};

export function createOfferService({ pool, pulse, tokens, geo, config, logger, now }: Deps): OfferService {
  const answers = createAnswerPool();
  const renderer = createRenderer({ publicUrl: config.publicUrl, tokens, qrCodes: createQrCodes(), pool: answers });
  const placements = createPlacements(pool, createStoreGuard(pulse));
  const userKeys = createUserKeys(config.userPepper);
  const surroundingsOf = createSurroundings(geo);
  const batcher = createBatcher<Item, Buffer>({ write, pulse, maxItems: 128 });

  /** Decides for a batch of requests, commits their sessions and renders their answers while the commit is under way. */
  async function write(items: readonly Item[]): Promise<Buffer[]> {
    const keys = new Set(items.flatMap((item) => item.userKey ?? []));
    const optOuts = await loadOptOuts(pool, [...keys]);
    const sessions = items.map((item) => decide(item, optOuts.get(item.userKey ?? '') ?? {}));
    for (const [index, item] of items.entries()) {
      const preparing = item.wall !== null ? undefined : renderer.prepare(item.publisher, sessions[index]?.offers ?? []);
      if (preparing !== undefined) await preparing;
    }
    const committed = insertSessions(pool, sessions);
    committed.catch(() => {}); // handled below; rendering must not leave it unobserved
    const answers = sessions.map((session, index) => (items[index]?.wall ? nothing : render(items[index] as Item, session)));
    await committed;
    await emptyExpired(items, sessions);
    return answers;
  }

  /** Sessions whose commit came after their deadline showed nothing; what is kept says so. */
  async function emptyExpired(items: readonly Item[], sessions: readonly SessionRecord[]): Promise<void> {
    const late = sessions.filter((session, index) => items[index]?.expired && session.offers.length > 0);
    if (late.length === 0) return;
    await emptySessions(
      pool,
      late.map((session) => session.id),
    ).catch((err) => logger.warn({ err }, 'sessions answered empty on their deadline still hold offers'));
  }

  function decide(item: Item, optOuts: Readonly<Record<string, number | null>>): SessionRecord {
    const { publisher, request, theme } = item;
    const nowMs = now();
    if (!item.expired || item.sessionId === null) item.sessionId = newSessionId(nowMs);
    const surroundings = surroundingsOf(request);
    const decision = decideOffers({
      publisher,
      theme,
      context: {
        ...surroundings,
        geo: surroundings,
        surface: item.wall === null ? 'unit' : 'offerwall',
        placement: request.placement,
        custom: request.custom,
        nowMs,
        userKey: item.userKey,
        loyalty: request.loyalty,
        onlyWithCreative: request.onlyWithCreative,
        campaignId: request.campaignId,
        count: item.expired ? 0 : item.limit,
        dev: request.dev,
      },
      history: { optOuts, exposures: [] },
      totals: new Map(),
      posteriors: nothingLearnt,
      seed: randomInt(2 ** 32),
    });
    const chosen = decision.offers.map(({ offer }) => offer);
    const offers = item.wall === null ? chosen : withFirst(chosen, item.wall.first);
    const session = {
      id: item.sessionId,
      publisherId: publisher.id,
      placement: item.placement,
      themeId: theme?.id ?? null,
      userKey: item.userKey,
      pubUserId: request.pubUserId,
      surroundings,
      offers,
      emptyReason: item.expired ? 'deadline' : decision.emptyReason,
      custom: request.custom,
      macros: macrosFor(offers, request),
      dev: request.dev,
      usp: isUspOn(item),
      uspCheckAll: theme?.uspCheckAll ?? false,
      createdAtMs: nowMs,
    };
    if (item.wall !== null) item.decided = session;
    return session;
  }

  type Shown = Pick<SessionRecord, 'id' | 'dev' | 'pubUserId' | 'usp' | 'offers' | 'macros'>;

  const render = ({ publisher, theme }: Item, session: Shown): Buffer =>
    renderer.render({
      publisher,
      theme,
      sessionId: session.id,
      dev: session.dev,
      hasUser: session.pubUserId !== null,
      usp: session.usp,
      offers: session.offers,
      macros: session.macros,
    });

  async function answer(item: Item, placement: string | Promise<string>): Promise<Buffer> {
    item.placement = typeof placement === 'string' ? placement : await placement;
    return batcher.add(item);
  }

  /** The empty answer that goes out on the deadline. Its session is kept, empty, if the store takes it after all. */
  function expire(item: Item): Buffer {
    const { dev, pubUserId } = item.request;
    item.expired = true;
    item.sessionId ??= newSessionId(now());
    return render(item, { id: item.sessionId, dev, pubUserId, usp: isUspOn(item), offers: [], macros: {} });
  }

  function itemOf(publisher: Publisher, request: FetchOffersRequest, wall: KnownVisitor | null): Item {
    const placement = publisher.placements.get(request.placement);
    const theme = themeOf(publisher, request.themeId ?? placement?.themeId ?? null);
    const identifier = request.adFp ?? request.pubUserId;
    const hashed = identifier === null ? null : userKeys.of(publisher.id, identifier);
    const ofUnit = placement?.offersPerResponse ?? theme?.offersPerResponse ?? publisher.offersPerResponse;
    return {
      publisher,
      request,
      theme,
      limit: wall === null ? ofUnit : maxWallOffers,
      placement: request.placement,
      userKey: wall?.userKey === undefined ? hashed : wall.userKey,
      sessionId: null,
      expired: false,
      wall,
      decided: null,
    };
  }

  const placementOf = ({ publisher, request }: Item): string | Promise<string> =>
    request.dev ? request.placement : placements.resolve(publisher, request.placement);

  return {
    fetch: (publisher, request) => {
      if (!pulse.isUp()) return Promise.reject(storeUnavailable());
      const item = itemOf(publisher, request, null);
      const answered = answer(item, placementOf(item));
      if (request.timeoutMs === null) return answered;
      return within(request.timeoutMs, answered, { late: () => expire(item), release: answers.release });
    },
    decideWall: async (publisher, request, known) => {
      if (!pulse.isUp()) throw storeUnavailable();
      const item = itemOf(publisher, request, known);
      await answer(item, placementOf(item));
      return { session: item.decided as SessionRecord, theme: item.theme };
    },
    renderWall: renderer.renderWall,
    release: answers.release,
    drain: batcher.drain,
  };
}

/** What stands for the answer of an offerwall, which is rendered page by page. */
const nothing = Buffer.alloc(0);

/** The offer that led to the wall, where it may be shown, before the others. */
function withFirst(offers: readonly Offer[], first: number | undefined): readonly Offer[] {
  const found = offers.find((offer) => offer.id === first);
  return found === undefined ? offers : [found, ...offers.filter((offer) => offer !== found)];
}

const isUspOn = ({ publisher, theme, request, wall }: Item): boolean =>
  wall === null && publisher.uspEnabled && theme?.unit === 'mou' && theme.uspEnabled && request.pubUserId !== null;

/** The theme asked for, where the publisher has it; else its default. */
function themeOf(publisher: Publisher, themeId: number | null): Theme | null {
  return (themeId === null ? undefined : publisher.themes.get(themeId)) ?? publisher.defaultTheme;
}

/** The values the copy shown is filled with; kept with the session, so that the webhook says the same. */
function macrosFor(offers: SessionRecord['offers'], request: FetchOffersRequest): MacroValues {
  const names = new Set(offers.flatMap((offer) => [...macroNames(offer.copy)]));
  return names.size === 0 ? {} : macroValuesOf(request, names);
}
