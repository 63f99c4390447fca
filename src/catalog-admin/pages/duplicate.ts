import type { PublisherContext } from '../../catalog/pages.ts';
import { ApprovalRequired } from '../../management/approval.ts';
import type { Resource, View } from '../../management/resource.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { type Html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton } from '../../shell/components.ts';
import { hasRole, keyIn } from '../../shell/context.ts';
import type { Pages } from '../../shell/pages.ts';
import type { PageServices } from './services.ts';

const writes = 'manager';

/** Adds the duplicate action to the pages of a resource. */
export function registerDuplicate(
  pages: Pages<PublisherContext>,
  { management }: PageServices,
  { name }: Resource,
  copy: (work: Work, key: string) => Promise<View>,
): void {
  pages.post(`/${name}/:key/duplicate`, writes, async (context) => {
    const key = keyIn(context);
    try {
      const view = await management.write(context, (work) => copy(work, key));
      return { to: context.path(`/${name}/${view.id}`), done: t('crud.copied') };
    } catch (err) {
      if (!(err instanceof ApprovalRequired)) throw err;
      // The copy cannot be proposed as a draft: a draft holds a single row, but a copy may consist of several.
      return { to: context.path(`/${name}/${encodeURIComponent(key)}`), failed: t('crud.copyNeedsApproval') };
    }
  });
}

/** Renders a button that duplicates a row. */
export const duplicateButton = (context: PublisherContext, { name }: Resource, view: View): Html =>
  hasRole(context.viewer.user.role, writes)
    ? actionButton(context, {
        to: context.path(`/${name}/${view.id}/duplicate`),
        text: t('common.duplicate'),
        kind: 'quiet',
      })
    : nothing;
