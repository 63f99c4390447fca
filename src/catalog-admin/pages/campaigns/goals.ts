import type { PublisherContext } from '../../../catalog/pages.ts';
import { goalMetrics } from '../../../catalog/rules.ts';
import { withAdditions } from '../../../management/additions.ts';
import type { Figures } from '../../../management/crud-definition.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, hiddenField } from '../../../shell/components.ts';
import type { Fields, FormValue } from '../../../shell/context.ts';
import { editedInstant, instantToLocal, percent } from '../../../shell/format.ts';
import { columns, type FormBuilder, fieldGroup, isNested } from '../../../shell/forms.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { figuresOf, type PageServices } from '../services.ts';
import { deliveryCell } from './delivery.ts';

/** Name of the hidden field that contains the stored deadline of a goal, in addition to the editable deadline field. */
const storedBy = 'goal.by.was';

/** Converts a goal to form values. */
export function goalToForm(goal: unknown, timeZone: string): Record<string, FormValue> {
  const { metric = '', count = '', by = '' } = isNested(goal) ? goal : {};
  const was = String(by);
  return {
    'goal.metric': String(metric),
    'goal.count': String(count),
    'goal.by': instantToLocal(was, timeZone),
    [storedBy]: was,
  };
}

/** Reads a goal from form values. Returns null if no goal is set. */
export const readGoal = (fields: Fields, timeZone: string) =>
  fields.text('goal.metric') === ''
    ? null
    : {
        metric: fields.text('goal.metric'),
        count: fields.number('goal.count'),
        by: editedInstant(fields.text('goal.by'), fields.text(storedBy), timeZone),
      };

export const goalFields = (form: FormBuilder, timeZone: string): Html =>
  fieldGroup(
    t('campaigns.goal'),
    columns([
      form.select('goal.metric', {
        label: t('campaigns.goalMetric'),
        choices: [
          { value: '', text: t('campaigns.goalNone') },
          ...goalMetrics.map((metric) => ({ value: metric, text: t(`campaigns.goal_${metric}`) })),
        ],
        hint: t('campaigns.goalHint'),
      }),
      form.input('goal.count', { label: t('campaigns.goalCount'), type: 'number', min: 1 }),
      form.input('goal.by', {
        label: t('campaigns.goalBy'),
        type: 'datetime-local',
        hint: t('campaigns.goalByHint', { zone: timeZone }),
      }),
    ]),
    html`
      ${hiddenField(storedBy, String(form.values[storedBy] ?? ''))}
      <p class="hint">${t('campaigns.goalLead')}</p>`,
  );

/** Returns the computed columns of the campaign list: delivery state, goal, and recent figures. */
export function campaignFigures(services: PageServices): { figures: Figures<PublisherContext> } {
  const { figures } = figuresOf(services, { dimension: 'campaign', key: (row) => Number(row.id) });
  const { management, additions } = services;
  return {
    figures: {
      columns: () => [{ text: t('campaigns.delivery') }, { text: t('campaigns.goal') }, ...(figures?.columns() ?? [])],
      cells: async (context, rows) => {
        const added = await management.read(context, (work) => withAdditions(additions, campaigns, work, rows));
        const cells = new Map(added.map((row) => [row.id, [deliveryCell(row), goalBadge(row.delivery)]]));
        const others = await figures?.cells(context, rows);
        return (row) => [...(cells.get(row.id) ?? [nothing, nothing]), ...(others?.(row) ?? [])];
      },
      card: async (context, view) => (await figures?.card(context, view)) ?? nothing,
    },
  };
}

const goalBadge = (delivery: unknown): Html =>
  isNested(delivery)
    ? badge(percent(Number(delivery.percent) / 100), delivery.on_track === true ? 'good' : 'warn')
    : nothing;
