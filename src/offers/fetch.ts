import type { Publisher, Theme } from '../catalog/types.ts';
import { createBatcher } from '../db/batcher.ts';
import { createStoreGuard } from '../db/store-guard.ts';
import { chooseOffers } from '../decision/choose.ts';
import type { Deps } from '../deps.ts';
import { storeUnavailable } from '../errors.ts';
import { createUserKeys } from '../security/user-key.ts';
import { newSessionId } from '../session-id.ts';
import { createAnswerPool } from './answer-pool.ts';
import { type MacroValues, macroNames, macroValuesOf } from './macros.ts';
import { createPlacements } from './placements.ts';
import { createQrCodes } from './qr.ts';
import { createRenderer } from './render.ts';
import type { FetchOffersRequest } from './request.ts';
import { insertSessions, loadOptOuts, type SessionRecord } from './sessions.ts';

/** Answers fetch-offers: decides, stores the session, renders. */
export type OfferService = {
  /** @returns the answer's JSON, after the session is committed; to be given back by `release` when it is sent */
  fetch: (publisher: Publisher, request: FetchOffersRequest) => Promise<Buffer>;
  release: (answer: Buffer) => void;
  drain: () => Promise<void>;
};

type Item = {
  publisher: Publisher;
  request: FetchOffersRequest;
  theme: Theme | null;
  limit: number;
  placement: string;
  userKey: string | null;
};

export function createOfferService({ pool, pulse, tokens, config, now }: Deps): OfferService {
  const answers = createAnswerPool();
  const renderer = createRenderer({ publicUrl: config.publicUrl, tokens, qrCodes: createQrCodes(), pool: answers });
  const placements = createPlacements(pool, createStoreGuard(pulse));
  const userKeys = createUserKeys(config.userPepper);
  const batcher = createBatcher<Item, Buffer>({ write, pulse, maxItems: 128 });

  /** Decides for a batch of requests, commits their sessions and renders their answers while the commit is under way. */
  async function write(items: readonly Item[]): Promise<Buffer[]> {
    const keys = new Set(items.flatMap((item) => item.userKey ?? []));
    const optOuts = await loadOptOuts(pool, [...keys]);
    const sessions = items.map((item) => decide(item, optOuts.get(item.userKey ?? '') ?? {}));
    for (const [index, item] of items.entries()) {
      const preparing = renderer.prepare(item.publisher, sessions[index]?.offers ?? []);
      if (preparing !== undefined) await preparing;
    }
    const committed = insertSessions(pool, sessions);
    committed.catch(() => {}); // handled below; rendering must not leave it unobserved
    const answers = sessions.map((session, index) => render(items[index] as Item, session));
    await committed;
    return answers;
  }

  function decide(item: Item, optOuts: Readonly<Record<string, number | null>>): SessionRecord {
    const { publisher, request, theme } = item;
    const wish = { ...request, limit: publisher.unitEnabled ? item.limit : 0 };
    const nowMs = now();
    const offers = chooseOffers(publisher.candidates, wish, optOuts, nowMs);
    return {
      id: newSessionId(nowMs),
      publisherId: publisher.id,
      placement: item.placement,
      themeId: theme?.id ?? null,
      userKey: item.userKey,
      pubUserId: request.pubUserId,
      country: request.country,
      offers,
      custom: request.custom,
      macros: macrosFor(offers, request),
      dev: request.dev,
      usp: publisher.uspEnabled && theme?.unit === 'mou' && theme.uspEnabled && request.pubUserId !== null,
      uspCheckAll: theme?.uspCheckAll ?? false,
      createdAtMs: nowMs,
    };
  }

  const render = ({ publisher, theme }: Item, session: SessionRecord): Buffer =>
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

  return {
    fetch: async (publisher, request) => {
      if (!pulse.isUp()) throw storeUnavailable();
      const placement = publisher.placements.get(request.placement);
      const theme = themeOf(publisher, request.themeId ?? placement?.themeId ?? null);
      const identifier = request.adFp ?? request.pubUserId;
      const resolved = request.dev ? request.placement : placements.resolve(publisher, request.placement);
      return batcher.add({
        publisher,
        request,
        theme,
        limit: placement?.offersPerResponse ?? theme?.offersPerResponse ?? publisher.offersPerResponse,
        placement: typeof resolved === 'string' ? resolved : await resolved,
        userKey: identifier === null ? null : userKeys.of(publisher.id, identifier),
      });
    },
    release: answers.release,
    drain: batcher.drain,
  };
}

/** The theme asked for, where the publisher has it; else its default. */
function themeOf(publisher: Publisher, themeId: number | null): Theme | null {
  return (themeId === null ? undefined : publisher.themes.get(themeId)) ?? publisher.defaultTheme;
}

/** The values the copy shown is filled with; kept with the session, so that the webhook says the same. */
function macrosFor(offers: SessionRecord['offers'], request: FetchOffersRequest): MacroValues {
  const names = new Set(offers.flatMap((offer) => [...macroNames(offer.copy)]));
  return names.size === 0 ? {} : macroValuesOf(request, names);
}
