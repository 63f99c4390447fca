import type { View } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { displayValue, valueDifferences, withValueNames } from '../../../shell/differences.ts';
import { moreFields } from '../../../shell/forms.ts';
import { loggedFieldName } from './field-names.ts';

/** Number of changed values above which an entry is collapsed. */
const maxExpanded = 4;

export type Zone = { timeZone: string };

/**
 * Renders the old and new values of the fields that an entry changed. Created and removed rows have only one of the
 * two.
 */
export function changeList(zone: Zone, { action, resource, changes }: View): Html {
  const display = (path: string, value: unknown): Html | string =>
    displayValue(zone, withValueNames(String(resource), path, value));
  const values = Object.entries(changes as Record<string, { old: unknown; new: unknown }>)
    .filter(([name]) => name !== 'id')
    .flatMap(([name, change]) => valueDifferences(name, change.old, change.new));
  const items = values.map(
    ([path, old, current]) => html`
      <div>
        <dt translate="no">${loggedFieldName(path)}</dt>
        <dd>${valueText(String(action), display(path, old), display(path, current))}</dd>
      </div>`,
  );
  const list = html`<dl class="changes">${items}</dl>`;
  return values.length <= maxExpanded ? list : moreFields(t('activity.values', { count: values.length }), list);
}

function valueText(action: string, old: Html | string, current: Html | string): Html | string {
  if (action === 'create') return current;
  if (action === 'remove') return old;
  return html`
    <del>${old}</del> <span aria-hidden="true">→</span><span class="sr"> ${t('activity.changedTo')} </span>
    <ins>${current}</ins>`;
}
