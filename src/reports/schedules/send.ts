import type pg from 'pg';
import type { CatalogStore } from '../../catalog/store.ts';
import { isReaderLanguage } from '../../platform/i18n/languages.ts';
import { inLanguage } from '../../platform/i18n/reader.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { Problem, problem } from '../../platform/problem.ts';
import { moneyFormat } from '../../shell/format.ts';
import type { ChatChannels } from '../chat-channels.ts';
import { convertedText } from '../metric-tiles.ts';
import { answerOf, currencyOfAnswer } from '../pages/explorer/answer.ts';
import { namesOf } from '../pages/explorer/names.ts';
import { readQuery } from '../pages/explorer/state.ts';
import type { Explored } from '../query/explore.ts';
import type { ExploreQuery } from '../query/types.ts';
import { nextDueMs } from './due.ts';
import { chatMessageOf, mailOf, type Sent } from './message.ts';
import { claimDue, type DueSchedule, settleDue } from './schedules.ts';

type SendDeps = {
  pool: pg.Pool;
  mailer: Mailer | null;
  now: () => number;
  config: { publicUrl: string };
  catalog: CatalogStore;
  reports: { explore: (query: ExploreQuery, signal?: AbortSignal) => Promise<Explored> };
  chatChannels: ChatChannels | null;
};

/**
 * Sends all saved reports that are due.
 * @returns the number of due reports
 */
export async function sendDueReports(deps: SendDeps): Promise<number> {
  const schedules = await claimDue(deps.pool, deps.now());
  for (const schedule of schedules) {
    const language = isReaderLanguage(schedule.language) ? schedule.language : null;
    const error = await inLanguage(language, () => sendOne(deps, schedule));
    const nowMs = deps.now();
    const zone = deps.catalog.current().publishers.get(schedule.publisherId)?.timeZone ?? 'UTC';
    await settleDue(deps.pool, schedule, { error, nowMs, nextDueMs: nextDueMs(schedule, zone, nowMs) });
  }
  return schedules.length;
}

/**
 * Sends one report.
 * @returns the reason for the failure, without addresses, or null on success
 */
async function sendOne(deps: SendDeps, schedule: DueSchedule): Promise<Problem | null> {
  const { mailer, chatChannels } = deps;
  const { channelId, email, publisherId } = schedule;
  if (channelId === null && email === null) return problem('userWithoutAccess');
  if (channelId === null && mailer === null) return problem('noMailServer');
  const sent = await reportOf(deps, schedule).catch(() => problem('reportUnreadable'));
  if (sent instanceof Problem) return sent;
  if (channelId !== null) return (await chatChannels?.post(publisherId, channelId, chatMessageOf(sent))) ?? null;
  // Use the same message ID for each attempt: if a process dies between sending a message and recording it, the message
  // is sent again.
  const messageId = `<report-${schedule.id}-${schedule.dueAt.getTime()}@${new URL(deps.config.publicUrl).hostname}>`;
  return (mailer as NonNullable<typeof mailer>).send({ to: email as string, messageId, ...mailOf(sent) }).then(
    () => null,
    () => problem('mailRefused'),
  );
}

/**
 * Returns the report and its result for the day on which it was due, regardless of how late it is sent. If the report
 * is not available, returns the reason instead.
 */
async function reportOf(deps: SendDeps, schedule: DueSchedule): Promise<Sent | Problem> {
  const { publisherId, reportId, name, query, dueAt } = schedule;
  const { catalog, reports, config, now } = deps;
  await catalog.ready(publisherId);
  const publisher = catalog.current().publishers.get(publisherId);
  if (publisher === undefined) return problem('publisherUnknown');
  const names = namesOf(catalog.current(), publisher);
  const state = readQuery(query);
  const nowMs = Math.min(now(), periodOf('day', publisher.timeZone, dueAt.getTime()).endMs - 1);
  const answer = await answerOf(reports, { state, publisher, names, nowMs }, undefined);
  if ('text' in answer) return problem('verbatim', { text: answer.text });
  const currency = currencyOfAnswer(answer, catalog.current(), publisherId);
  const pages = `${config.publicUrl}/dashboard/p/${publisherId}/reports`;
  return {
    publisher: publisher.name,
    name,
    state,
    answer,
    names,
    currency,
    money: moneyFormat(currency),
    converted: convertedText(publisher, answer.converted, answer.total.now),
    page: `${pages}${query}`,
    stop: `${pages}/saved/${reportId}`,
  };
}
