import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { clickIdIn } from '../../tracking/conversions/support.ts';
import { googlebot } from '../../tracking/journey.ts';
import { type Catalogue, limits, type Part } from './catalogue.ts';
import type { Client, ClientResponse, Offer, Session } from './client.ts';

/** Clicks within this time after their impression are suspicious, in milliseconds. Clicks after `slowMs` are not. */
const tooFastMs = 100;
const slowMs = 150;

type SessionOffer = Offer & { sessionId: string };

/** Returns the session's offer of a campaign, or undefined if it was not shown. */
const offerOf = ({ id, offers }: Session, campaignId: number): SessionOffer | undefined => {
  const offer = offers.find(({ campaign_id }) => campaign_id === campaignId);
  return offer === undefined ? undefined : { ...offer, sessionId: id };
};

/** Runs `work` `count` times concurrently. */
const atOnce = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

const statuses = (answers: readonly ClientResponse[]): number[] => answers.map(({ status }) => status);

/** Creates the actions of users, advertisers and publishers. Each step states its expected effect by hand. */
export function createJourney(client: Client, catalogue: Catalogue) {
  async function view({ pixel }: Pick<Offer, 'pixel'>): Promise<void> {
    expect((await client.follow(pixel)).status).toBe(200);
  }

  /**
   * Fetches concurrently, and loads the pixel of each offer of the part.
   * @returns the offers that were shown
   */
  async function fetchAndView(
    part: Part,
    count: number,
    bodyOf: (index: number) => object = () => ({}),
    onView: () => void = () => {},
  ) {
    const offers = await atOnce(count, async (index) => {
      const offer = offerOf(await client.fetchOffers({ placement: part, ...bodyOf(index) }), catalogue[part]);
      if (offer !== undefined) {
        await view(offer);
        onView();
      }
      return offer;
    });
    return offers.filter((offer) => offer !== undefined);
  }

  /**
   * Fetches from one server after another until each has leased slices of a total cap.
   * @returns number of impressions
   */
  async function lease(servers: number, slices: () => Promise<string[]>): Promise<number> {
    const knownIds = new Set<string>();
    let impressions = 0;
    // Count each impression separately: a busy server may reject one call, but the others were still made.
    const count = (): void => {
      impressions += 1;
    };
    for (let server = 0; server < servers; server += 1) {
      client.stayAt(server);
      await expect
        .poll(async () => {
          await fetchAndView('leased', 32, undefined, count);
          const fresh = (await slices()).filter((id) => !knownIds.has(id));
          for (const id of fresh) knownIds.add(id);
          return fresh.length;
        })
        .toBeGreaterThan(0);
    }
    client.stayAt(null);
    return impressions;
  }

  /** Opens a new session that shows the part. Retries, because a process may not have loaded the campaign yet. */
  async function show(part: Part, body: object = {}): Promise<SessionOffer> {
    let offer: SessionOffer | undefined;
    await expect
      .poll(async () => {
        offer = offerOf(await client.fetchOffers({ placement: part, ...body }), catalogue[part]);
        return offer;
      })
      .toBeDefined();
    return offer as SessionOffer;
  }

  async function click({ click_url }: Pick<Offer, 'click_url'>): Promise<ClientResponse> {
    const answer = await client.follow(click_url);
    expect(answer.status).toBe(302);
    return answer;
  }

  /**
   * Fetches until `limit` impressions were shown, and then some more.
   * @returns the offers that were shown
   */
  async function exhaust(part: Part, limit: number): Promise<SessionOffer[]> {
    const offers: SessionOffer[] = [];
    await expect
      .poll(async () => {
        offers.push(...(await fetchAndView(part, 32)));
        return offers.length;
      })
      .toBeGreaterThanOrEqual(limit);
    offers.push(...(await fetchAndView(part, 16)));
    return offers;
  }

  /**
   * Shows a campaign with a user cap in many concurrent sessions per user.
   * @returns number of impressions
   */
  async function exhaustUsers(users: number): Promise<number> {
    const userOf = (index: number): object => ({ pub_user_id: `capped-${index % users}` });
    await show('user');
    const offers = await fetchAndView('user', users * 8, userOf);
    return offers.length + (await fetchAndView('user', users * 2, userOf)).length;
  }

  /** Sends repeated beacons, and clicks of people and bots. */
  async function track(): Promise<void> {
    const viewedOffer = await show('tracked');
    expect(statuses(await atOnce(8, () => client.follow(viewedOffer.pixel)))).toEqual(Array(8).fill(200));
    expect(statuses(await atOnce(2, () => client.follow(viewedOffer.beacons.close)))).toEqual([200, 200]);
    await sleep(slowMs);
    await atOnce(2, () => click(viewedOffer));
    const unseen = await show('tracked');
    const clickId = clickIdIn(toLocation(await click(unseen)));
    await view(unseen);
    expect((await report({ click_id: clickId, txn_id: 'unseen' })).message).toBe('recorded');
    const crawled = await show('tracked');
    expect((await client.follow(crawled.pixel, googlebot)).status).toBe(200);
  }

  /**
   * Clicks immediately after the impression until one click was certainly too fast, which may take several attempts on
   * a busy machine.
   * @returns number of attempts, and of clicks that were certainly too fast
   */
  async function clickTooFast(): Promise<{ attempts: number; certain: number }> {
    const tried = { attempts: 0, certain: 0 };
    while (tried.certain === 0) {
      const offer = await show('hasty');
      const startMs = performance.now();
      await view(offer);
      await click(offer);
      tried.attempts += 1;
      if (performance.now() - startMs < tooFastMs) tried.certain += 1;
    }
    return tried;
  }

  /** Refuses a campaign ("no thanks"), which is then not shown to this user again. */
  async function refuse(): Promise<void> {
    const user = { pub_user_id: 'refuses' };
    const offer = await show('refused', user);
    await view(offer);
    expect(statuses(await atOnce(4, () => client.follow(offer.beacons.no_thanks_click)))).toEqual(Array(4).fill(200));
    const isShown = async (): Promise<boolean> =>
      offerOf(await client.fetchOffers({ placement: 'refused', ...user }), catalogue.refused) !== undefined;
    await expect.poll(isShown).toBe(false);
    expect(await Promise.all([isShown(), isShown()])).toEqual([false, false]);
  }

  async function report(fields: Record<string, string>): Promise<{ status: number; message: string }> {
    const { status, json } = await client.call('GET', `/track?${new URLSearchParams(fields)}`);
    return { status, message: (json as { message: string }).message };
  }

  /** Reports conversions of a click, each several times concurrently, and voids one of them. */
  async function convert(): Promise<void> {
    const offer = await show('sold');
    await view(offer);
    await sleep(slowMs);
    const clickId = clickIdIn(toLocation(await click(offer)));
    const sale = { click_id: clickId, event: 'sale', txn_id: 'kept' };
    const reports = await atOnce(4, () => report(sale));
    expect(reports.map(({ message }) => message).sort()).toEqual(['duplicate', 'duplicate', 'duplicate', 'recorded']);
    const returned = { ...sale, txn_id: 'returned' };
    expect(await report(returned)).toEqual({ status: 200, message: 'recorded' });
    const voids = await atOnce(2, () => report({ ...returned, void: '1' }));
    expect(voids.map(({ message }) => message).sort()).toEqual(['duplicate', 'recorded']);
  }

  /**
   * Confirms one session with a selection and one without, several times concurrently.
   * @returns the session IDs
   */
  async function wrap(): Promise<{ selected: string; none: string }> {
    const confirm = async ({ sessionId }: SessionOffer): Promise<void> => {
      const path = `/sdk/v4/usp/session/${sessionId}.json`;
      const answers = await atOnce(4, () => client.manage<{ status: string }>('POST', path, { action: 'wrap' }));
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill('wrapped'));
    };
    const selectedOffer = await show('perk', { pub_user_id: 'chooses' });
    await client.manage('PUT', `/sdk/v4/usp/session/${selectedOffer.sessionId}.json`, { selected: [catalogue.perk] });
    await confirm(selectedOffer);
    const none = await show('perk', { pub_user_id: 'chooses-none' });
    await confirm(none);
    return { selected: selectedOffer.sessionId, none: none.sessionId };
  }

  /** Returns whether stored decisions give the same result when they are replayed. */
  async function redecide(sessionIds: readonly string[]): Promise<boolean[]> {
    return Promise.all(
      sessionIds.map(async (id) => {
        const path = `/manage/v1/sessions/${id}/decision`;
        return (await client.manage<{ identical: boolean }>('GET', path)).identical;
      }),
    );
  }

  return {
    lease,
    exhaust: {
      total: () => exhaust('total', limits.total),
      budget: () => exhaust('budget', limits.budget),
      users: exhaustUsers,
    },
    track,
    clickTooFast,
    refuse,
    convert,
    wrap,
    redecide,
  };
}

const toLocation = ({ headers }: ClientResponse) => ({ headers: { location: headers.get('location') ?? '' } });
