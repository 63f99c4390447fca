import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../platform/problem.ts';
import {
  actionButton,
  badge,
  card,
  emptyState,
  link,
  linkButton,
  noMatches,
  notice,
  pager,
  saveForm,
  strongLink,
  table,
} from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { moment, momentText } from '../../shell/format.ts';
import { createForm, filterSelect, moreFields } from '../../shell/forms.ts';
import type { AlertText } from '../describe.ts';
import { type AlertMessage, allAlerts, type InboxAlert, type Mute, maxNoteLength } from '../inbox.ts';
import { type AlertKind, alertKinds } from '../kinds.ts';
import { conditionOfAlert } from '../metrics/check.ts';

export type DescribedAlert = InboxAlert & AlertText;

/** Path of the list of all alerts. */
export const allAlertsPath = '/alerts/all';

const good: readonly string[] = ['endpoint.recovered'];

/** Durations of a mute that can be selected, in hours. */
export const muteHours = [1, 4, 24, 7 * 24, 30 * 24] as const;
const defaultMuteHours = 7 * 24;

type Inbox = {
  alerts: readonly DescribedAlert[];
  /** Number of alerts that the viewer has not read. */
  unread: number;
  /** Whether there can be older alerts. */
  isMore: boolean;
};

/** Renders the card with the latest alerts, each with its reason, a link to the related page, and who was notified. */
export function inboxCard(context: PublisherContext, { alerts, unread, isMore }: Inbox): Html {
  if (alerts.length === 0) return emptyState('alerts', t('alerts.none'), t('alerts.noneText'));
  const read =
    unread > 0 &&
    actionButton(context, {
      to: context.path('/alerts/read'),
      text: t('alerts.markAllRead'),
      small: true,
      values: { until: alerts[0]?.id ?? 0 },
    });
  return card(
    t('alerts.inbox'),
    html`
      <ul class="stream">${alerts.map((alert) => item(context, alert))}</ul>
      ${isMore && html`<p class="actions">${linkButton(context.path(allAlertsPath), t('alerts.showAll'))}</p>`}`,
    {
      lead: unread === 0 ? t('alerts.noneNew') : t('alerts.countNew', { count: unread }),
      actions: html`${read}`,
    },
  );
}

type AlertList = {
  alerts: readonly DescribedAlert[];
  /** Selected kind, or null for all kinds. */
  kind: AlertKind | null;
  /** URLs of the newest alerts, if older ones are shown, and of the next older ones. */
  newest: string | null;
  older: string | null;
};

/** Renders a page of the list of all alerts, with a filter by kind. */
export function alertList(context: PublisherContext, { alerts, kind, newest, older }: AlertList): Html {
  const kinds = Object.entries(alertKinds).map(([value, text]) => ({ value, text: t(text) }));
  return html`
    <form class="filters" method="get" action="${context.path(allAlertsPath)}">
      ${filterSelect('kind', t('alerts.alert'), kinds, kind ?? '')}
      <button class="button">${t('common.apply')}</button>
    </form>
    ${alerts.length === 0 && noMatches()}
    <ul class="stream">${alerts.map((alert) => item(context, alert))}</ul>
    ${pager(newest, older)}`;
}

function item(context: PublisherContext, alert: DescribedAlert, isOwnPage = false): Html {
  const { publisher, path } = context;
  const { title, reason, raisedAt, isNew, fix } = alert;
  const hasChart = !isOwnPage && conditionOfAlert(alert) !== null;
  return html`
    <li class="alert" id="alert-${alert.id}">
      ${isNew ? badge(t('alerts.new'), 'info') : nothing}
      <span class="alert-text">
        ${strongLink(path(alert.path), title)}
        <span>${reason}</span>
        ${fix !== undefined && html`<span>${fix.text} ${link(path(fix.path), fix.link)}</span>`}
        <small class="hint">${notifiedText(alert.messages)}</small>
        ${hasChart && html`<small>${link(path(`/alerts/${alert.id}`), t('alerts.details'))}</small>`}
        ${muteText(context, alert)}
      </span>
      ${stateBadge(context, alert)}
      ${moment(publisher, raisedAt)}
      ${muteControl(context, alert)}
    </li>`;
}

/** Renders an alert on its own page. */
export const alertItem = (context: PublisherContext, alert: DescribedAlert): Html =>
  html`<ul class="stream">${item(context, alert, true)}</ul>`;

/** Renders the card with the other alerts about the same problem. */
export function similarCard(
  { publisher, path }: PublisherContext,
  alerts: readonly { id: number; raisedAt: Date; endedAt: Date | null }[],
): Html {
  if (alerts.length === 0) return nothing;
  const columns = [{ text: t('metricAlerts.from') }, { text: t('metricAlerts.to') }];
  const rows = alerts.map(({ id, raisedAt, endedAt }) => [
    strongLink(path(`/alerts/${id}`), moment(publisher, raisedAt)),
    endedAt === null ? '–' : moment(publisher, endedAt),
  ]);
  return card(t('alerts.similar'), table(t('alerts.similar'), columns, rows));
}

/** Describes who was notified of an alert, and which messages could not be sent. */
function notifiedText(messages: readonly AlertMessage[]): string {
  if (messages.length === 0) return t('alerts.notifiedNobody');
  const namesWith = (state: AlertMessage['state']): string => {
    const of = messages.filter((message) => message.state === state);
    const mails = of.filter(({ channel }) => channel === null).length;
    const channels = of.flatMap(({ channel, error }) => {
      if (channel === null) return [];
      return state === 'failed' && error !== null ? [`${channel} (${wordProblem(readProblem(error))})`] : [channel];
    });
    return [...(mails > 0 ? [t('alerts.mailCount', { count: mails })] : []), ...channels].join(', ');
  };
  const states = (['sent', 'waiting', 'failed'] as const).map((state) => ({ state, names: namesWith(state) }));
  return states
    .filter(({ names }) => names !== '')
    .map(({ state, names }) => t('alerts.notified', { state, names }))
    .join(' ');
}

function stateBadge({ publisher }: PublisherContext, { kind, endedAt }: DescribedAlert): Html {
  if (good.includes(kind)) return badge(t('alerts.recovered'), 'good');
  if (endedAt === null) return nothing;
  return html`<span title="${momentText(publisher, endedAt)}">${badge(t('alerts.over'), 'good')}</span>`;
}

function muteText({ publisher }: PublisherContext, { mute }: DescribedAlert): Html {
  if (mute === null) return nothing;
  const time = momentText(publisher, mute.until);
  const by = mute.by === '' ? t('alerts.mutedUntil', { time }) : t('alerts.mutedBy', { time, by: mute.by });
  return html`<small>${badge(t('alerts.muted'))} ${by}${mute.note !== '' && ` ${mute.note}`}</small>`;
}

/** Renders the form that mutes an alert, or the button that unmutes it. */
function muteControl(context: PublisherContext, { id, mute }: DescribedAlert): Html {
  if (!hasRole(context.viewer.user.role, 'manager')) return nothing;
  const to = context.path(`/alerts/${id}/mute`);
  if (mute !== null)
    return actionButton(context, { to, text: t('alerts.unmute'), small: true, values: { mute: 'no' } });
  return muteForm(context, id, { title: t('alerts.mute'), hint: t('alerts.muteHint'), button: t('alerts.muteNow') });
}

/** Renders the form that mutes all alerts of the publisher, for example during maintenance. */
export function muteAllControl(context: PublisherContext): Html {
  if (!hasRole(context.viewer.user.role, 'manager')) return nothing;
  const texts = { title: t('alerts.muteAll'), hint: t('alerts.muteAllHint'), button: t('alerts.muteAllNow') };
  return muteForm(context, allAlerts, texts, 1);
}

/** Renders the notice that all alerts are muted, with a button that ends the mute. */
export function muteAllNotice(context: PublisherContext, mute: Mute): Html {
  const to = context.path(`/alerts/${allAlerts}/mute`);
  const canEnd = hasRole(context.viewer.user.role, 'manager');
  const values = { time: momentText(context.publisher, mute.until), by: mute.by };
  return notice(
    'warn',
    html`
      <p>${t('alerts.allMutedUntil', values)}${mute.note !== '' && ` ${mute.note}`}</p>
      ${canEnd && actionButton(context, { to, text: t('alerts.unmute'), small: true, values: { mute: 'no' } })}`,
  );
}

type MuteTexts = { title: string; hint: string; button: string };

function muteForm(
  context: PublisherContext,
  id: number | typeof allAlerts,
  { title, hint, button }: MuteTexts,
  initialHours = defaultMuteHours,
): Html {
  const to = context.path(`/alerts/${id}/mute`);
  const names = muteFields(id);
  const form = createForm({ [names.hours]: String(initialHours), [names.note]: '' });
  const choices = muteHours.map((hours) => ({ value: String(hours), text: durationText(hours) }));
  const fields = html`
    <p class="hint">${hint}</p>
    ${form.select(names.hours, { label: t('alerts.muteFor'), choices })}
    ${form.input(names.note, { label: t('alerts.muteNote'), hint: t('alerts.muteNoteHint', { max: maxNoteLength }) })}`;
  return moreFields(title, saveForm(context, to, fields, { button, page: context.path('/alerts') }));
}

/** Returns the names of the fields of an alert. They contain its ID, because the page has one form per alert. */
export const muteFields = (id: number | typeof allAlerts) => ({ hours: `hours.${id}`, note: `note.${id}` });

export const durationText = (hours: number): string =>
  hours % 24 === 0 ? t('alerts.muteDays', { days: hours / 24 }) : t('alerts.muteHours', { hours });
