import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  firefox,
  chromium as launcher,
} from 'playwright-core';
import { hasResources, resource } from './resources.ts';
import { launchWebkit } from './webkit/browser.ts';

const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Limit of every wait and navigation; only ends tests that hang. */
const browserTimeoutMs = 180_000;

/** Of a browser with a window; that of a headless one counts as a bot. */
export const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36';

/** The browser that the tests of the SDK run in (npm run test:browsers). */
const browserName = process.env.BROWSER || 'chromium';

/** What the drivers of other browsers cannot do, and why. Tests that need it are skipped there. */
const missing: Record<string, Record<string, string>> = {
  firefox: {
    fonts: 'it takes those of the machine',
    'dark mode': 'its driver answers the command, and nothing changes',
  },
  webkit: {
    fonts: 'it takes those of the machine, and knows no override of heights',
    clock: 'WebDriver has no command for the clock of a page',
    'dark mode': 'WebKitGTK takes it from the desktop when it starts',
    frames: 'no part of a frame of another origin can be reached by script',
  },
};

/** Whether tests that need it are skipped in this browser. */
export const lacks = (need: 'clock' | 'dark mode' | 'fonts' | 'frames'): boolean =>
  need in (missing[browserName] ?? {});

/** A context of its own cookies and storage. */
export async function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ ...(browserName === 'chromium' ? { userAgent } : {}), ...options });
  context.setDefaultTimeout(browserTimeoutMs);
  return context;
}

let shared: Promise<Browser> | undefined;

/** A real browser, which serves all test files of this worker and ends with it. */
export function openBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

/** To be called at the end of a test file, for the next one. */
export async function closeContexts(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/**
 * The global set-up unpacks it, as no worker may run what another has unpacked a part of; benches do it themselves.
 * @param fonts file of fontconfig: Chromium has its fonts alone, and does not round their widths to pixels
 */
export async function launchBrowser(fonts?: string): Promise<Browser> {
  if (browserName === 'webkit') return launchWebkit();
  if (browserName === 'firefox')
    return firefox.launch({
      channel: 'moz-firefox',
      executablePath: fileURLToPath(new URL('./firefox-bidi.js', import.meta.url)),
    });
  const executablePath = hasResources() ? await resource('chromium') : await chromium.executablePath();
  if (fonts === undefined) return launcher.launch({ executablePath, args });
  const env = { ...process.env, FONTCONFIG_FILE: fonts };
  return launcher.launch({ executablePath, args: [...args, '--font-render-hinting=none'], env });
}
