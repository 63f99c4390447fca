import type { PublisherContext } from '../../../catalog/publisher-pages.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { actionButton } from '../../../shell/actions.ts';
import { badge, card, descriptionList, linkButton } from '../../../shell/components.ts';
import { count, moment, momentOr } from '../../../shell/format.ts';
import { hasRole } from '../../../shell/viewer.ts';
import type { RedeliveryJob } from '../../redelivery/jobs.ts';

/** Progress of a redelivery job; refreshes itself while it runs. */
export function redeliveryProgress(context: PublisherContext, job: RedeliveryJob): Html {
  const { path, viewer } = context;
  const isRunning = job.status === 'running';
  const at = path(`/deliveries/replays/${job.id}`);
  const refresh = isRunning && html` hx-get="${at}" hx-trigger="every 1s" hx-swap="outerHTML"`;
  const canCancel = isRunning && hasRole(viewer.user.role, 'manager');
  const cancel = () => actionButton(context, { to: `${at}/cancel`, text: t('common.cancel'), small: true });
  return html`
    <div id="redelivery"${refresh}>
      ${card(t('deliveries.progress'), progress(context, job), { actions: canCancel ? cancel() : nothing })}
      ${!isRunning && html`<p>${linkButton(path('/deliveries'), t('deliveries.back'))}</p>`}
    </div>`;
}

function progress({ publisher }: PublisherContext, job: RedeliveryJob): Html {
  const tone = job.status === 'running' ? 'info' : job.status === 'done' ? 'good' : 'warn';
  const max = Math.max(1, job.total);
  const value = job.status === 'done' ? max : job.queued;
  return html`
    <progress class="bar" max="${max}" value="${value}" aria-label="${t('deliveries.progress')}"></progress>
    ${descriptionList([
      [t('deliveries.status'), badge(t(`redeliveryStatus.${job.status}`), tone)],
      [t('deliveries.queued'), t('deliveries.queuedOf', { queued: count(job.queued), total: count(job.total) })],
      [t('deliveries.started'), moment(publisher, job.createdAt, 'second')],
      [t('deliveries.finished'), momentOr(publisher, job.finishedAt)],
    ])}`;
}
