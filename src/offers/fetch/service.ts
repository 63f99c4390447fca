import { createPlacements } from '../../catalog/snapshot/placements.ts';
import type { Publisher, Theme } from '../../catalog/snapshot/types.ts';
import { explain } from '../../decision/explain/explain.ts';
import { type Explanation, noHistory, type OptOuts } from '../../decision/types.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { databaseUnavailable } from '../../platform/errors.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import { readHistory } from '../caps/history.ts';
import { createLiveUse } from '../caps/live-use.ts';
import { needsOf } from '../caps/needs.ts';
import { createSurroundings } from '../context/client-context.ts';
import { createStateKeeper } from '../decision-log/state-writer.ts';
import { emptyModel, loadModel } from '../model/posteriors.ts';
import type { OfferDeps } from '../ports.ts';
import { createQrCodes } from '../render/qr.ts';
import { createRenderer, type Renderer } from '../render/render.ts';
import { createAnswerPool } from './answer-pool.ts';
import { createCappedWriter } from './capped-fetch.ts';
import { within } from './deadline.ts';
import { decideItem, inputFor, noTotals, seedOf, totalsAt } from './decide-request.ts';
import { type Item, isUspOn, type KnownVisitor, themeOf } from './fetch-item.ts';
import { startPeriodic } from './refresh-loops.ts';
import type { FetchOffersRequest } from './request.ts';
import { emptySessions, insertSessions, insertUnlessOptedOut, type SessionRecord, sessionRow } from './sessions.ts';

/** Answers fetch-offers: decides, stores the session, renders. */
export type OfferService = {
  /** @returns the answer's JSON, after the session is committed; to be given back by `release` when it is sent */
  fetch: (publisher: Publisher, request: FetchOffersRequest) => Promise<Buffer>;
  /**
   * Decides for an offerwall: all its offers, in a session that is committed when this resolves. Rendered page by page.
   */
  decideWall: (
    publisher: Publisher,
    request: FetchOffersRequest,
    known: KnownVisitor,
  ) => Promise<{ session: SessionRecord; theme: Theme | null }>;
  renderWall: Renderer['renderWall'];
  /** Why each offer would be shown to this request now, or not. Nothing is stored, counted or held. */
  explain: (publisher: Publisher, request: FetchOffersRequest) => Promise<Explanation[]>;
  release: (answer: Buffer) => void;
  drain: () => Promise<void>;
};

/** How often what others did is read again: with campaigns' totals, and with what is learned (milliseconds). */
const useMs = 1000;
const learnMs = 30_000;

const maxItems = 128;

type Decided = { item: Item; session: SessionRecord };

/** An answer, or what failed in making it. */
type Rendered = Buffer | Promise<Buffer>;

/** A decision on its way to the store, with what is written of it. */
type Draft = Decided & { row: string };

export function createOfferService(deps: OfferDeps): OfferService {
  const { pool, dbHealth, catalog, tokens, geo, config, logger, now } = deps;
  const answers = createAnswerPool();
  const renderer = createRenderer({ publicUrl: config.publicUrl, tokens, qrCodes: createQrCodes(), pool: answers });
  const guarded = createFailFast(dbHealth);
  const placements = createPlacements(pool, guarded);
  const userKeys = createUserKeys(config.userPepper);
  const surroundingsOf = createSurroundings(geo);
  const use = createLiveUse(deps);
  let model = emptyModel;
  const learn = async (): Promise<void> => {
    const found = await loadModel(pool, catalog.current(), now());
    if (found.id !== model.id) model = found;
  };
  const keeper = createStateKeeper(deps);
  const periodic = { dbHealth, logger };
  const tasks = [
    startPeriodic({ name: 'use of campaigns', everyMs: useMs, work: use.refresh, ...periodic }),
    startPeriodic({ name: 'learning', everyMs: learnMs, work: learn, ...periodic }),
  ];
  const writeCapped = createCappedWriter({ pool, use, model: () => model, noteState: keeper.used, now });
  const plain = createBatcher<Draft, Buffer>({ write: writePlain, dbHealth, maxItems });
  const informed = createBatcher<Draft, Buffer>({ write: writeInformed, dbHealth, maxItems });
  const emptying = createBatcher<string, void>({
    write: async (ids) => {
      await emptySessions(pool, ids);
      return [];
    },
    dbHealth,
    maxItems,
    lanes: 1,
  });
  const capped: Batcher<Item, Buffer> = createBatcher<Item, Buffer>({
    write: async (items) => {
      const sessions = await writeCapped(items);
      const decided = items.map((item, index) => ({ item, session: sessions[index] as SessionRecord }));
      const rendered = await renderAll(decided);
      emptyExpired(decided);
      return rendered;
    },
    dbHealth,
    maxItems,
  });

  /**
   * Where no cap holds, a decision is made as soon as its request is read, as if the user had opted out of nothing:
   * nearly
   * all have not, and the statement that stores the sessions says who has.
   */
  function draft(item: Item, optOuts?: OptOuts): Draft {
    const history = optOuts === undefined ? noHistory : { optOuts, exposures: [] };
    const session = decideItem(item, { history, totals: noTotals, model }, now());
    keeper.used(item.snapshot, model);
    return { item, session, row: sessionRow(session) };
  }

  /**
   * Commits drafts, and renders their answers while the commit is under way. Those of users who have opted out are made
   * anew.
   */
  async function writePlain(given: readonly Draft[]): Promise<Rendered[]> {
    const drafts = given.map(inTime);
    const storing = insertUnlessOptedOut(
      pool,
      drafts.map(({ row }) => row),
      drafts.flatMap(({ item }) => item.userKey ?? []),
    );
    storing.catch(() => {}); // handled below; rendering must not leave it unobserved
    const rendered = await renderAll(drafts);
    const optOuts = await storing;
    emptyExpired(drafts);
    if (optOuts.size === 0) return rendered;
    return rendered.map((answer, at) => {
      const { item } = drafts[at] as Draft;
      const found = optOuts.get(item.userKey ?? '');
      if (found === undefined) return answer;
      if (Buffer.isBuffer(answer)) answers.release(answer);
      return decideInformed(item, found);
    });
  }

  const decideInformed = async (item: Item, optOuts: OptOuts): Promise<Buffer> => informed.add(draft(item, optOuts));

  /** Commits drafts that were made with all there is to know of their users. */
  async function writeInformed(given: readonly Draft[]): Promise<Rendered[]> {
    const drafts = given.map(inTime);
    await insertSessions(
      pool,
      drafts.map(({ row }) => row),
    );
    const rendered = await renderAll(drafts);
    emptyExpired(drafts);
    return rendered;
  }

  /** What is decided after its deadline shows nothing. */
  const inTime = (one: Draft): Draft => (one.item.expired ? draft(one.item) : one);

  /** Nothing is waited for where all that rendering needs is there, as nearly always. */
  function renderAll(decided: readonly Decided[]): Rendered[] | Promise<Rendered[]> {
    const preparing = decided.map(prepare);
    return preparing.every((one) => one === undefined) ? decided.map(renderOne) : renderPrepared(decided, preparing);
  }

  const prepare = ({ item, session }: Decided): Promise<unknown> | undefined =>
    item.wall !== null ? undefined : renderer.prepare(item.publisher, session.offers, session.pubUserId !== null);

  async function renderPrepared(
    decided: readonly Decided[],
    preparing: readonly (Promise<unknown> | undefined)[],
  ): Promise<Rendered[]> {
    const prepared = await Promise.allSettled(preparing);
    return prepared.map((one, at) =>
      one.status === 'rejected' ? failure(one.reason) : renderOne(decided[at] as Decided),
    );
  }

  /** Whatever cannot be rendered fails for itself alone: the others of its batch are committed with it. */
  function renderOne({ item, session }: Decided): Rendered {
    try {
      return item.wall !== null ? nothing : render(item, session);
    } catch (err) {
      return failure(err);
    }
  }

  /**
   * Sessions whose commit came after their deadline showed nothing; what is kept says so. Nobody waits for that: what
   * is not late when
   * this is called is answered before another deadline can pass.
   */
  function emptyExpired(decided: readonly Decided[]): void {
    const late = decided.filter(({ item, session }) => item.expired && session.offers.length > 0);
    if (late.length === 0) return;
    Promise.all(late.map(({ session }) => emptying.add(session.id))).catch((err) =>
      logger.warn({ err }, 'sessions answered empty on their deadline still hold offers'),
    );
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
    return isCapped(item) ? capped.add(item) : plain.add(draft(item));
  }

  /** Whether caps of users or totals of campaigns bear on what is shown. */
  function isCapped({ snapshot, publisher, userKey, dev }: Item): boolean {
    const needs = needsOf(snapshot);
    return !dev && (needs.hasTotalCaps(publisher.id) || (userKey !== null && needs.hasUserCaps(publisher.id)));
  }

  /** The empty answer that goes out on the deadline. Its session is kept, empty, if the store takes it after all. */
  function expire(item: Item): Buffer {
    item.expired = true;
    item.sessionId ??= newUuid7(now());
    return render(item, {
      id: item.sessionId,
      dev: item.dev,
      pubUserId: item.request.pubUserId,
      usp: isUspOn(item),
      offers: [],
      macros: {},
    });
  }

  function itemOf(given: Publisher, request: FetchOffersRequest, wall: KnownVisitor | null): Item {
    const snapshot = catalog.current();
    const publisher = snapshot.publishers.get(given.id) ?? given;
    const identifier = request.adFp ?? request.pubUserId;
    const hashed = identifier === null ? null : userKeys.of(publisher.id, identifier);
    return {
      snapshot,
      publisher,
      request,
      surroundings: surroundingsOf(request),
      theme: themeOf(publisher, request),
      placement: request.placement,
      userKey: wall?.userKey === undefined ? hashed : wall.userKey,
      dev: request.dev || publisher.testMode,
      sessionId: null,
      expired: false,
      wall,
      decided: null,
    };
  }

  const placementOf = ({ publisher, request, dev }: Item): string | Promise<string> =>
    dev ? request.placement : placements.resolve(publisher, request.placement);

  return {
    fetch: (publisher, request) => {
      if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
      const item = itemOf(publisher, request, null);
      const answered = answer(item, placementOf(item));
      if (request.timeoutMs === null) return answered;
      return within(request.timeoutMs, answered, { late: () => expire(item), release: answers.release });
    },
    decideWall: async (publisher, request, known) => {
      if (!dbHealth.isUp()) throw databaseUnavailable();
      const item = itemOf(publisher, request, known);
      await answer(item, placementOf(item));
      return { session: item.decided as SessionRecord, theme: item.theme };
    },
    renderWall: renderer.renderWall,
    explain: async (publisher, request) => {
      const item = itemOf(publisher, request, null);
      const nowMs = now();
      const needs = needsOf(item.snapshot);
      const history =
        item.userKey === null ? noHistory : await guarded(() => readHistory(pool, item.userKey as string, nowMs));
      const totals = totalsAt(await guarded(() => use.known(needs)), needs, nowMs);
      return explain(inputFor(item, { history, totals, model }, nowMs, seedOf(newUuid7(nowMs))));
    },
    release: answers.release,
    drain: async () => {
      await Promise.all([plain.drain(), capped.drain(), ...tasks.map((task) => task.stop())]);
      await informed.drain();
      await emptying.drain();
      await keeper.drain();
    },
  };
}

/** A failure to be handed on, which nobody has to look at before. */
function failure(err: unknown): Promise<never> {
  const failed = Promise.reject(err);
  failed.catch(() => {});
  return failed;
}

/** What stands for the answer of an offerwall, which is rendered page by page. */
const nothing = Buffer.alloc(0);
