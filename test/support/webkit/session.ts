import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endChild, freePort, untilReady } from '../server-process.ts';
import { type Network, startNetwork } from './network.ts';

/** A WebDriver session (https://www.w3.org/TR/webdriver2), addressed by its URL. */
export type Session = {
  call: (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<unknown>;
  end: () => Promise<void>;
};

export type Driver = {
  network: Network;
  newSession: () => Promise<Session>;
  endSession: () => Promise<void>;
  close: () => Promise<void>;
};

/** Starts WebKitWebDriver on a separate screen. */
export async function startDriver(): Promise<Driver> {
  const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const display = await firstOutput(screen);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const driver = spawn('WebKitWebDriver', ['-p', String(port)], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DISPLAY: `:${display}`,
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      // This folder contains gtk-3.0/settings.ini, which reduces motion.
      XDG_CONFIG_HOME: fileURLToPath(new URL('.', import.meta.url)),
    },
  });
  await untilReady(`${url}/status`, driver);
  process.once('exit', () => {
    driver.kill();
    screen.kill();
  });
  const network = await startNetwork();
  let current: Session | null = null;
  return {
    network,
    newSession: async () => {
      // The driver supports only one session at a time.
      await current?.end();
      network.reset();
      current = await openSession(url, network.port);
      return current;
    },
    endSession: async () => current?.end(),
    close: async () => {
      await current?.end();
      await endChild(driver, 'SIGTERM');
      await endChild(screen, 'SIGTERM');
      network.close();
    },
  };
}

async function firstOutput({ stdio: [, , , pipe] }: ChildProcess): Promise<string> {
  if (pipe === null || pipe === undefined) throw new Error('no pipe');
  return new Promise((resolve) => pipe.once('data', (chunk) => resolve(String(chunk).trim())));
}

async function openSession(url: string, proxyPort: number): Promise<Session> {
  const proxy = { proxyType: 'manual', httpProxy: `127.0.0.1:${proxyPort}`, sslProxy: `127.0.0.1:${proxyPort}` };
  const capabilities = { alwaysMatch: { proxy, 'webkitgtk:browserOptions': { args: ['--automation'] } } };
  const { sessionId } = (await command(`${url}/session`, 'POST', { capabilities })) as { sessionId: string };
  const base = `${url}/session/${sessionId}`;
  let ended: Promise<unknown> | null = null;
  return {
    call: (method, path, body) => command(base + path, method, body),
    end: async () => {
      ended ??= command(base, 'DELETE').catch(() => {});
      await ended;
    },
  };
}

async function command(url: string, method: string, body?: object): Promise<unknown> {
  const response = await fetch(url, { method, ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}) });
  const { value } = (await response.json()) as { value: { error?: string; message?: string } | null };
  if (!response.ok) throw new Error(`WebDriver ${method} ${new URL(url).pathname}: ${value?.error} ${value?.message}`);
  return value;
}
