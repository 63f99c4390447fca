import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { RedeliveryJob } from '../../../webhooks/redelivery/jobs.ts';
import { mayAct } from '../../auth/users.ts';
import { actionButton, badge, card, facts, linkButton } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count, moment } from '../../shell/format.ts';

/** How far a replay of many is; renews itself while it runs. */
export function replayProgress(context: PublisherContext, job: RedeliveryJob): Html {
  const { path, publisher } = context;
  const running = job.status === 'running';
  const at = path(`/deliveries/replays/${job.id}`);
  const tone = running ? 'info' : job.status === 'done' ? 'good' : 'warn';
  return html`<div id="replay"${running && html` hx-get="${at}" hx-trigger="every 1s" hx-swap="outerHTML"`}>${card(
    'Progress',
    html`<progress class="bar" max="${Math.max(1, job.total)}" value="${job.status === 'done' ? Math.max(1, job.total) : job.queued}" aria-label="Progress"></progress>
${facts([
  ['Status', badge(job.status, tone)],
  ['Queued again', `${count(job.queued)} of ${count(job.total)}`],
  ['Begun', moment(publisher, job.createdAt, 'second')],
  ['Finished', job.finishedAt === null ? '–' : moment(publisher, job.finishedAt, 'second')],
])}`,
    {
      actions:
        running && mayAct(context.viewer.user.role, 'manager')
          ? actionButton(context, { to: `${at}/cancel`, text: 'End it', small: true })
          : nothing,
    },
  )}${running ? nothing : html`<p>${linkButton(path('/deliveries'), 'To the deliveries')}</p>`}</div>`;
}
