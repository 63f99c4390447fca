import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { RedeliveryJob } from '../../../webhooks/redelivery/jobs.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton } from '../../shell/actions.ts';
import { badge, card, descriptionList, linkButton } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count, moment, momentOr } from '../../shell/format.ts';

/** Progress of a redelivery job; refreshes itself while it runs. */
export function redeliveryProgress(context: PublisherContext, job: RedeliveryJob): Html {
  const { path, viewer } = context;
  const isRunning = job.status === 'running';
  const at = path(`/deliveries/replays/${job.id}`);
  const refresh = isRunning && html` hx-get="${at}" hx-trigger="every 1s" hx-swap="outerHTML"`;
  const canCancel = isRunning && hasRole(viewer.user.role, 'manager');
  const cancel = () => actionButton(context, { to: `${at}/cancel`, text: 'Cancel', small: true });
  return html`
    <div id="redelivery"${refresh}>
      ${card('Progress', progress(context, job), { actions: canCancel ? cancel() : nothing })}
      ${!isRunning && html`<p>${linkButton(path('/deliveries'), 'Back to deliveries')}</p>`}
    </div>`;
}

function progress({ publisher }: PublisherContext, job: RedeliveryJob): Html {
  const tone = job.status === 'running' ? 'info' : job.status === 'done' ? 'good' : 'warn';
  const max = Math.max(1, job.total);
  const value = job.status === 'done' ? max : job.queued;
  return html`
    <progress class="bar" max="${max}" value="${value}" aria-label="Progress"></progress>
    ${descriptionList([
      ['Status', badge(job.status, tone)],
      ['Queued', `${count(job.queued)} of ${count(job.total)}`],
      ['Started', moment(publisher, job.createdAt, 'second')],
      ['Finished', momentOr(publisher, job.finishedAt)],
    ])}`;
}
