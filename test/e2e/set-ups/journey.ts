import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { clickIdIn } from '../../tracking/conversions/support.ts';
import { googlebot } from '../../tracking/journey.ts';
import { type Catalogue, limits, type Part } from './catalogue.ts';
import type { Answer, Client, Offer, Session } from './client.ts';

/** Clicks this soon after their impression are suspicious, and later than `slowMs` they are not (milliseconds). */
const tooFastMs = 100;
const slowMs = 150;

type Shown = Offer & { sessionId: string };

/** The campaign of a part in a session; undefined: it was not shown. */
const offerOf = ({ id, offers }: Session, campaignId: number): Shown | undefined => {
  const offer = offers.find(({ campaign_id }) => campaign_id === campaignId);
  return offer === undefined ? undefined : { ...offer, sessionId: id };
};

/** Calls `count` times at once. */
const atOnce = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);

/** What a user, an advertiser and a publisher do; each step says by hand what it must lead to. */
export function createJourney(client: Client, catalogue: Catalogue) {
  async function view({ pixel }: Pick<Offer, 'pixel'>): Promise<void> {
    expect((await client.follow(pixel)).status).toBe(200);
  }

  /** Fetches at once, and loads the pixel of each offer of the part. @returns how many answers showed it */
  async function fetchAndView(
    part: Part,
    count: number,
    bodyOf: (index: number) => object = () => ({}),
    onView: () => void = () => {},
  ) {
    const shown = await atOnce(count, async (index) => {
      const offer = offerOf(await client.fetchOffers({ placement: part, ...bodyOf(index) }), catalogue[part]);
      if (offer !== undefined) {
        await view(offer);
        onView();
      }
      return offer;
    });
    return shown.filter((offer) => offer !== undefined);
  }

  /** Fetches at one server after the other until each has leased slices of a total cap. @returns impressions (count) */
  async function lease(servers: number, slices: () => Promise<string[]>): Promise<number> {
    const known = new Set<string>();
    let shown = 0;
    // Counted one by one: a busy server may refuse one of the calls, and the others were made all the same.
    const count = (): void => {
      shown += 1;
    };
    for (let server = 0; server < servers; server += 1) {
      client.stayAt(server);
      await expect
        .poll(async () => {
          await fetchAndView('leased', 32, undefined, count);
          const fresh = (await slices()).filter((id) => !known.has(id));
          for (const id of fresh) known.add(id);
          return fresh.length;
        })
        .toBeGreaterThan(0);
    }
    client.stayAt(null);
    return shown;
  }

  /** A new session that shows the part: a process may not know the campaign yet. */
  async function show(part: Part, body: object = {}): Promise<Shown> {
    let shown: Shown | undefined;
    await expect
      .poll(async () => {
        shown = offerOf(await client.fetchOffers({ placement: part, ...body }), catalogue[part]);
        return shown;
      })
      .toBeDefined();
    return shown as Shown;
  }

  async function click({ click_url }: Pick<Offer, 'click_url'>): Promise<Answer> {
    const answer = await client.follow(click_url);
    expect(answer.status).toBe(302);
    return answer;
  }

  /** Fetches until `limit` impressions were shown, and beyond. @returns how many were */
  async function exhaust(part: Part, limit: number): Promise<Shown[]> {
    const shown: Shown[] = [];
    await expect
      .poll(async () => {
        shown.push(...(await fetchAndView(part, 32)));
        return shown.length;
      })
      .toBeGreaterThanOrEqual(limit);
    shown.push(...(await fetchAndView(part, 16)));
    return shown;
  }

  /** Users with a cap of their own, each in many sessions at once. */
  async function exhaustUsers(users: number): Promise<number> {
    const userOf = (index: number): object => ({ pub_user_id: `capped-${index % users}` });
    await show('user');
    const shown = await fetchAndView('user', users * 8, userOf);
    return shown.length + (await fetchAndView('user', users * 2, userOf)).length;
  }

  /** Beacons that are repeated, and clicks of a person and of none. */
  async function track(): Promise<void> {
    const seen = await show('tracked');
    expect(statuses(await atOnce(8, () => client.follow(seen.pixel)))).toEqual(Array(8).fill(200));
    expect(statuses(await atOnce(2, () => client.follow(seen.beacons.close)))).toEqual([200, 200]);
    await sleep(slowMs);
    await atOnce(2, () => click(seen));
    const unseen = await show('tracked');
    const clickId = clickIdIn(toLocation(await click(unseen)));
    await view(unseen);
    expect((await report({ click_id: clickId, txn_id: 'unseen' })).message).toBe('recorded');
    const crawled = await show('tracked');
    expect((await client.follow(crawled.pixel, googlebot)).status).toBe(200);
  }

  /**
   * Clicks at once after the impression, until one was certainly too fast: on a busy machine it may not be.
   * @returns attempts, and those that were certainly too fast (count)
   */
  async function clickTooFast(): Promise<{ attempts: number; certain: number }> {
    const tried = { attempts: 0, certain: 0 };
    while (tried.certain === 0) {
      const shown = await show('hasty');
      const startMs = performance.now();
      await view(shown);
      await click(shown);
      tried.attempts += 1;
      if (performance.now() - startMs < tooFastMs) tried.certain += 1;
    }
    return tried;
  }

  /** A user who says no is not asked again. */
  async function refuse(): Promise<void> {
    const user = { pub_user_id: 'refuses' };
    const shown = await show('refused', user);
    await view(shown);
    expect(statuses(await atOnce(4, () => client.follow(shown.beacons.no_thanks_click)))).toEqual(Array(4).fill(200));
    const isShown = async (): Promise<boolean> =>
      offerOf(await client.fetchOffers({ placement: 'refused', ...user }), catalogue.refused) !== undefined;
    await expect.poll(isShown).toBe(false);
    expect(await Promise.all([isShown(), isShown()])).toEqual([false, false]);
  }

  async function report(fields: Record<string, string>): Promise<{ status: number; message: string }> {
    const { status, json } = await client.call('GET', `/track?${new URLSearchParams(fields)}`);
    return { status, message: (json as { message: string }).message };
  }

  /** Conversions of a click, reported several times at once, and one taken back. */
  async function convert(): Promise<void> {
    const shown = await show('sold');
    await view(shown);
    await sleep(slowMs);
    const clickId = clickIdIn(toLocation(await click(shown)));
    const sale = { click_id: clickId, event: 'sale', txn_id: 'kept' };
    const reports = await atOnce(4, () => report(sale));
    expect(reports.map(({ message }) => message).sort()).toEqual(['duplicate', 'duplicate', 'duplicate', 'recorded']);
    const returned = { ...sale, txn_id: 'returned' };
    expect(await report(returned)).toEqual({ status: 200, message: 'recorded' });
    const voids = await atOnce(2, () => report({ ...returned, void: '1' }));
    expect(voids.map(({ message }) => message).sort()).toEqual(['duplicate', 'recorded']);
  }

  /** Confirms a selection several times at once, and another without any. @returns the sessions */
  async function wrap(): Promise<{ chosen: string; none: string }> {
    const confirm = async ({ sessionId }: Shown): Promise<void> => {
      const path = `/sdk/v4/usp/session/${sessionId}.json`;
      const answers = await atOnce(4, () => client.manage<{ status: string }>('POST', path, { action: 'wrap' }));
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill('wrapped'));
    };
    const chosen = await show('perk', { pub_user_id: 'chooses' });
    await client.manage('PUT', `/sdk/v4/usp/session/${chosen.sessionId}.json`, { selected: [catalogue.perk] });
    await confirm(chosen);
    const none = await show('perk', { pub_user_id: 'chooses-none' });
    await confirm(none);
    return { chosen: chosen.sessionId, none: none.sessionId };
  }

  /** Whether stored decisions, made again, are what was shown. */
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

const toLocation = ({ headers }: Answer) => ({ headers: { location: headers.get('location') ?? '' } });
