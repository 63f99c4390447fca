import type { PublisherContext } from '../../catalog/pages.ts';
import type { Offer } from '../../catalog/types.ts';
import type { Resource, View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { actionButton, badge, notice } from '../../shell/components.ts';
import { hasRole, keyIn } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import type { Pages } from '../../shell/pages.ts';
import { setStopped } from '../resources/stop.ts';
import type { PageServices } from './services.ts';

const writes = 'manager';

/** Adds the kill switch to the pages of a resource. */
export function registerStop(
  pages: Pages<PublisherContext>,
  { management }: PageServices,
  { resource, nameOf }: { resource: Resource; nameOf: (row: View) => string },
): void {
  for (const action of ['stop', 'resume'] as const)
    pages.post(`/${resource.name}/:key/${action}`, writes, async (context) => {
      const view = await management.write(context, (work) => setStopped(resource, work, keyIn(context), action));
      const done = t(action === 'stop' ? 'stop.done' : 'stop.ended', { name: nameOf(view) });
      return { to: context.path(`/${resource.name}/${view.id}`), done };
    });
}

/** Renders a button that stops or resumes a row after confirmation. */
export function stopButton(context: PublisherContext, { name }: Resource, view: View, shownName: string): Html {
  if (!hasRole(context.viewer.user.role, writes) || view.deleted_at !== null) return nothing;
  const path = context.path(`/${name}/${view.id}`);
  return view.stopped === true
    ? actionButton(context, { to: `${path}/resume`, text: t('stop.resume') })
    : actionButton(context, {
        to: `${path}/stop`,
        text: t('stop.stop'),
        kind: 'danger',
        confirm: t('stop.confirm', { name: shownName }),
      });
}

export const stoppedBadge = (by: Offer['stopped'] = null): Html =>
  badge(t(by === 'codes' ? 'stop.noCodes' : 'stop.stopped'), 'bad');

/**
 * Renders a notice that shows when and by whom a row was stopped. For an offer, `within` states whether its campaign or
 * advertiser is stopped.
 */
export function stopNotice({ publisher }: PublisherContext, view: View, within: Offer['stopped'] = null): Html {
  if (view.stopped === true) {
    const time = moment(publisher, String(view.stopped_at));
    return notice('warn', html`<p>${tHtml('stop.notice', { who: String(view.stopped_by), time })}</p>`);
  }
  if (within === 'codes') return notice('warn', html`<p>${tHtml('stop.codes', {})}</p>`);
  return within === null || within === 'offer' ? nothing : notice('warn', html`<p>${t('stop.within', { within })}</p>`);
}
