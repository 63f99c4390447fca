import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenPage, type Stage, startStage } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
  // With one offer per placement, some offers remain for the next placement.
  await stage.t.pool.query('update publishers set offers_per_response = 1');
  await stage.t.deps.catalog.refresh();
});
afterAll(() => stage.close());

const fetchPath = '/native/v4/offers.json';
const isFetch = (request: Request): boolean => new URL(request.url()).pathname === fetchPath;

/** Returns the request bodies of the page's fetches. */
const bodiesOf = ({ requests }: OpenPage) =>
  requests.filter(isFetch).map((request) => request.postDataJSON() as Record<string, unknown>);

const body = '<div id="one"></div><div id="two"></div><div id="three"></div>';
const config = { accountId: '0123456789abcdef', autoLoad: false };

/** Viewport that is large enough to show all units. */
const viewport = { width: 1000, height: 4000 };

/** Returns a script that mounts units once the SDK is loaded. */
const mounting = (script: string): string =>
  `document.addEventListener('DOMContentLoaded', () => { window.units = [];
    const add = (placement, targetElement, more) => units.push(Ad.mount({
      placement, targetElement, ...more, callback: (event, payload) =>
      seen.push({ event: placement + ' ' + event, payload }) })); window.add = add; ${script} });`;

const open = (script: string, user = 'mounted') =>
  stage.open({ config, body, viewport, user: { pub_user_id: user }, before: mounting(script) });

/** Returns the titles that the units show. */
const titlesIn = ({ page }: OpenPage) =>
  Promise.all(['one', 'two', 'three'].map((id) => page.locator(`#${id} .title`).first().textContent()));

describe('units that a page mounts together', () => {
  test('fetch offers in one call, in order and without duplicates', async () => {
    const opened = await open(
      `add('first', 'one'); add('second', 'two', { themeId: 'other' }); add('third', 'three');`,
    );
    for (const placement of ['first', 'second', 'third']) await opened.until(`${placement} ad_shown`);
    const [requestBody, ...further] = bodiesOf(opened);
    expect(further).toEqual([]);
    expect(requestBody).toEqual({
      pub_user_id: 'mounted',
      placements: [{ name: 'first' }, { name: 'second', theme_id: 'other' }, { name: 'third' }],
    });
    const titles = await titlesIn(opened);
    expect(new Set(titles).size).toBe(3);
    expect(opened.problems).toEqual([]);
    const { rows } = await stage.t.pool.query('select placement from sessions where pub_user_id = $1 order by 1', [
      'mounted',
    ]);
    expect(rows.map(({ placement }) => placement)).toEqual(['first', 'second', 'third']);
  });

  test('fetch separately if they have another user or a placement that is already mounted', async () => {
    const opened = await open(
      `add('first', 'one'); add('first', 'two'); add('second', 'three', { user: { pub_user_id: 'other' } });`,
    );
    await opened.until('first ad_shown', 2);
    await opened.until('second ad_shown');
    const bodies = bodiesOf(opened);
    expect(bodies).toHaveLength(3);
    expect(bodies.map(({ placement, pub_user_id: user }) => `${placement} ${user}`).sort()).toEqual(
      ['first mounted', 'first mounted', 'second other'].sort(),
    );
    expect(bodies.every((requestBody) => !('placements' in requestBody))).toBe(true);
  });

  test('get their offers even if their placement names differ only in case', async () => {
    const opened = await open(`add('same place', 'one'); add('Same_Place', 'two');`);
    await opened.until('same place ad_shown');
    await opened.until('Same_Place ad_shown');
    expect(bodiesOf(opened).map(({ placement, placements }) => placement ?? placements)).toEqual([
      [{ name: 'same place' }, { name: 'Same_Place' }],
      'Same_Place',
    ]);
    expect((await opened.names()).filter((name) => name.endsWith('error'))).toEqual([]);
  });
});

test('units mounted later fetch again, and a unit with autoLoad off fetches only on load()', async () => {
  const opened = await open(`add('first', 'one'); add('silent', 'three', { autoLoad: false });`);
  await opened.until('first ad_shown');
  expect(bodiesOf(opened)).toEqual([{ pub_user_id: 'mounted', placement: 'first' }]);
  await opened.page.evaluate("add('second', 'two'); units[1].load()");
  await opened.until('second ad_shown');
  await opened.until('silent ads_found');
  expect(bodiesOf(opened).slice(1)).toEqual([
    { pub_user_id: 'mounted', placements: [{ name: 'second' }, { name: 'silent' }] },
  ]);
  await opened.page.evaluate('units[0].refresh()');
  await opened.until('first ads_found', 2);
  expect(bodiesOf(opened).slice(2)).toEqual([{ pub_user_id: 'mounted', placement: 'first' }]);
});
