import type pg from 'pg';
import type { PageExtensions, PublisherContext } from '../../catalog/pages.ts';
import { type TokenBucket, takeToken } from '../../platform/db/token-bucket.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { badge } from '../../shell/components.ts';
import type { Sender } from '../../webhooks/sender.ts';
import { checkPage, checkStartUrl, resultOf } from '../page-check.ts';
import { areChecksOn } from './landing-card.ts';

/** Timeout for each HTTP call while the user waits, in milliseconds. */
const callMs = 4000;

/** Rate limit for checks while a URL is being entered, so that the form cannot be used to scan hosts. */
const checksWhileTyping: TokenBucket = { table: 'landing_check_buckets', burst: 20, perMinute: 20 };

/** Names that are reserved for examples and tests do not resolve (RFC 6761). */
const reservedName = /(^|\.)(example|invalid|localhost|test)$/i;

/** Badge colours, by result. A page that has never been checked cannot have moved. */
const tones = { found: 'good', gone: 'bad', moved: 'warn', unreachable: 'warn' } as const;

type CheckDeps = {
  pool: pg.Pool;
  sender: Sender;
  now: () => number;
  /** Returns a monotonic time in milliseconds. */
  elapsedMs: () => number;
};

/**
 * Creates the check of a landing page that is being entered. It has the same restrictions as the daily checks. Each
 * publisher has at most one check at a time in each process, and a limited number of checks per minute overall.
 */
export function createLandingCheck({
  pool,
  sender,
  now,
  elapsedMs,
}: CheckDeps): NonNullable<PageExtensions['landingCheck']> {
  const running = new Set<number>();
  /** Renders a hint, and repeats the check after a delay in seconds. */
  const later = ({ path }: PublisherContext, text: string, delayS: number): Html => html`
    <p class="hint" hx-post="${path('/campaigns/landing-check')}" hx-include="#f-landing_url"
      hx-trigger="load delay:${delayS}s" hx-target="closest .checked">${text}</p>`;
  return async (context, typed) => {
    const { publisher } = context;
    const isComplete = typed.startsWith('https://');
    const url = isComplete ? checkStartUrl(typed, { publisher_id: publisher.id, campaign_id: 0 }) : null;
    if (url === null || !url.hostname.includes('.') || reservedName.test(url.hostname)) return nothing;
    if (running.has(publisher.id)) return later(context, t('landingPages.busy'), 2);
    running.add(publisher.id);
    try {
      if (!(await areChecksOn(pool, publisher.id))) return nothing;
      if (!(await takeToken(pool, checksWhileTyping, publisher.id, now())))
        return later(context, t('landingPages.tooMany'), 10);
      const check = await checkPage(url, { sender, callMs, now: elapsedMs });
      const result = await resultOf(check, null);
      const { status, problem, host, redirects } = check;
      const answer = problem === null ? String(status) : t('landingPages.problem', { problem });
      const to = redirects === 0 ? '' : ` · ${host}, ${t('landingPages.redirects', { count: redirects })}`;
      return html`
        <p>
          ${badge(t('landingPages.result', { result }), tones[result])}
          <small>${t('landingPages.status')}: ${answer}${to}</small>
        </p>`;
    } finally {
      running.delete(publisher.id);
    }
  };
}
