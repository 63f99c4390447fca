import { findBaseUrl } from '../base-url.ts';
import { createBeacons } from '../beacons.ts';
import { createBridge } from '../bridge.ts';
import { adoptStyle, createStyle, queryText, type Style, timeLimit } from '../compat.ts';
import { pageSource } from '../config.ts';
import { describeError, SdkError } from '../errors.ts';
import { createEmitter } from '../events.ts';
import { toJson } from '../json.ts';
import { installOldNames, themeIdOf } from '../legacy-names.ts';
import { activation, readSetup, type Setup, whenParsed } from '../page.ts';
import type { Emit } from '../types.ts';
import { findElement, waitForTarget } from '../unit/target.ts';
import { adoptFonts, h } from '../views/dom.ts';
import { wantsRightToLeft } from '../words.ts';
import { startWall } from './wall.ts';
import { loadWallWords } from './words.ts';

/** Timeout for loading the style sheet, in milliseconds. If it expires, the wall is shown without styles. */
const styleTimeoutMs = 5000;

/**
 * Runs `launcher.perkswall.js`, which renders the offerwall into the container set in `window.AdConfig`, for the user
 * in `window.AdUser` (docs/reference/fetch-offers.md#offerwall). It never throws. Failures are emitted as `error`
 * events.
 */
async function install(page: Window, base: string): Promise<void> {
  const bridge = createBridge(page, installOldNames(page as unknown as Record<string, unknown>));
  const source = pageSource(page, () => {});
  const { emit } = createEmitter(() => source.config.callback, bridge);
  try {
    const { problems, ...setup } = readSetup(source, base);
    if (problems.length > 0) emit('error', describeError(new SdkError('invalid_parameter', problems.join(' '))));
    await draw(setup, emit);
  } catch (err) {
    emit('error', describeError(err));
  }
}

async function draw({ config, user, base }: Pick<Setup, 'config' | 'user' | 'base'>, emit: Emit): Promise<void> {
  const { accountId, dev, country } = config;
  const target = config.containerId ?? config.targetElement;
  if (target && !findElement(target)) await new Promise<void>((resolve) => waitForTarget(target, resolve, resolve));
  const container = findElement(target);
  if (!container) throw new SdkError('render_error', 'Element AdConfig.containerId not found.');
  const themeId = themeIdOf(config);
  const query = queryOf({ themeId, dev: dev === true ? '1' : dev, country, ...user, accountId, standalone: '0' });
  const host = h('div', { 'data-perkswall': '' });
  const shadow = host.attachShadow({ mode: 'open' });
  const root = h('div', { id: 'wall', dir: wantsRightToLeft(config) && 'rtl' });
  shadow.append(root);
  const [style, words] = await Promise.all([loadStyle(base, query), loadWallWords(config, base)]);
  if (style !== null) adoptStyle(shadow, style);
  container.querySelector(':scope > [data-perkswall]')?.remove();
  container.append(host);
  const beacons = createBeacons(new URL(base).origin, (err) => emit('error', describeError(err)));
  startWall({ root, query, base, words, emit, beacons });
}

/** Returns the query parameters that the hosted page would have. */
const queryOf = (fields: Record<string, unknown>): URLSearchParams =>
  new URLSearchParams(
    queryText(
      Object.entries(fields)
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => [name, typeof value === 'object' ? toJson(value) : value]),
    ),
  );

/**
 * Loads the wall's style sheet in the publisher's theme. It is a constructed style sheet, because strict content
 * security policies allow those.
 */
async function loadStyle(base: string, query: URLSearchParams): Promise<Style | null> {
  const names = ['accountId', 'themeId', 'placement'].filter((name) => query.has(name));
  const search = queryText(names.map((name) => [name, query.get(name)]));
  try {
    const response = await fetch(`${base}/offerwall/v2/style.css?${search}`, {
      credentials: 'omit',
      ...timeLimit(styleTimeoutMs),
    });
    if (!response.ok) return null;
    const rules = await response.text();
    adoptFonts(rules.match(/@font-face\{[^}]*\}/g)?.join('') ?? '');
    return await createStyle(rules);
  } catch {
    return null;
  }
}

const base = findBaseUrl(document);
whenParsed(async () => {
  await activation();
  await install(window, base);
});
