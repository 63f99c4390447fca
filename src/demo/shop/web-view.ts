import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type PrefetchMode, renderCheckoutHtml, renderPrefetchHtml } from '@perkwire/client';
import { embeddedDemoIds } from '../catalogue.ts';
import { policy } from './policy.ts';

const templates = new URL('../../../assets/html/', import.meta.url);

/**
 * Script that simulates the bridge that an app adds to its web view before the page runs, such as Android's
 * `addJavascriptInterface`.
 */
const bridge = '<script src="/demo/bridge.js"></script>';

export type WebViewPage = { html: string; csp: string };

/** Query parameters for the web views of the simulated app. */
export type WebViewQuery = { user: string; placement: string; mode: PrefetchMode; dev: boolean };

/**
 * Creates the two pages that an app shows in its web views, from the shipped templates and in the same way as an app
 * does.
 */
export async function createWebViews(publicUrl: string) {
  const [prefetch, checkout] = await Promise.all(
    ['prefetch.html', 'checkout.html'].map((name) => readFile(new URL(name, templates), 'utf8')),
  );
  const optionsOf = ({ user, placement, dev }: WebViewQuery) => ({
    sdkId: embeddedDemoIds.sdkId,
    sdkCdnUrl: `${publicUrl}/sdk/launcher.js`,
    user: { placement, pub_user_id: user, ...(dev && { dev: '1' }) },
  });
  const toPage = (rendered: string): WebViewPage => {
    const html = rendered.replace('<head>', () => `<head>${bridge}`);
    return {
      html,
      csp: policy(publicUrl, {
        scripts: [publicUrl, ...hashesOf(html, inlineScript)],
        styles: hashesOf(html, inlineStyle),
      }),
    };
  };
  return {
    prefetch: (query: WebViewQuery) => toPage(renderPrefetchHtml(prefetch as string, optionsOf(query))),
    checkout: (query: WebViewQuery) =>
      toPage(renderCheckoutHtml(checkout as string, { ...optionsOf(query), mode: query.mode })),
  };
}

const inlineScript = /<script(?: data-sdk="[^"]*")?>([\s\S]*?)<\/script>/g;
const inlineStyle = /<style>([\s\S]*?)<\/style>/g;

const hashesOf = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map((match) => `'sha256-${hash('sha256', match[1] ?? '', 'base64')}'`);
