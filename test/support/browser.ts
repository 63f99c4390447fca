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

/** Timeout of every wait and navigation, in milliseconds. It only ends tests that hang. */
const browserTimeoutMs = 180_000;

/** User agent of a browser with a window. The user agent of a headless browser is treated as a bot. */
export const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36';

/** Browser in which the SDK tests run (npm run test:browsers). */
const browserName = process.env.BROWSER || 'chromium';

/** Features that the drivers of other browsers lack, with the reason. Tests that need them are skipped. */
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

/** Whether this browser lacks a feature, so that tests that need it are skipped. */
export const lacks = (need: 'clock' | 'dark mode' | 'fonts' | 'frames'): boolean =>
  need in (missing[browserName] ?? {});

/** Opens a context with its own cookies and storage. */
export async function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ ...(browserName === 'chromium' ? { userAgent } : {}), ...options });
  context.setDefaultTimeout(browserTimeoutMs);
  return context;
}

let shared: Promise<Browser> | undefined;

/** Opens a real browser, which all test files of this worker share. It ends with the worker. */
export function openBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

/** Closes all contexts. Call this at the end of a test file, before the next one uses the browser. */
export async function closeContexts(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/**
 * Launches Chromium. The global set-up unpacks it for tests, because workers must not run a partially unpacked file.
 * Benches unpack it themselves.
 * @param fonts path of a fontconfig file; Chromium then only has these fonts, and does not round their widths to pixels
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
