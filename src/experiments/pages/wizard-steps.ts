import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { descriptionList } from '../../shell/components.ts';
import { fieldsOf } from '../../shell/context.ts';
import { momentText, percent } from '../../shell/format.ts';
import { columns, type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import type { ExperimentValues } from '../configuration/view.ts';
import {
  type ChangeKind,
  changeFields,
  changeKinds,
  disclosure,
  holdoutField,
  layerField,
  liftField,
  nameField,
  percentField,
  placementsField,
  rampField,
  timeFields,
  withheldField,
} from './fields.ts';
import { armNames } from './form.ts';
import { armsIn, defaultKey, type Question, questions, stateOf } from './wizard-state.ts';
import { inWords } from './words.ts';

/** Renders the fields of the first step: the question, the name and, in a disclosure, the key. */
export function learnFields(form: FormBuilder): Html {
  const choice = (question: Question): Html => html`
    <label>
      <input type="radio" name="question" value="${question}"${form.values.question === question && html` checked`}>
      <span>
        <strong>${t(`experimentWizard.ask_${question}`)}</strong>
        <span class="hint">${t(`experimentWizard.askHint_${question}`)}</span>
      </span>
    </label>`;
  const choices = html`
    <fieldset class="choices">
      <legend class="sr">${t('experimentWizard.learnTitle')}</legend>
      ${questions.map(choice)}
    </fieldset>`;
  const key = form.input('key', { label: t('experiments.key'), code: true, hint: t('experimentWizard.keyHint') });
  return html`
    ${form.custom('question', t('experimentWizard.learnTitle'), choices)}
    ${nameField(form)}
    ${disclosure(form, t('experimentWizard.ownKey'), key)}`;
}

/** Renders the fields of the second step: the arms, or the offers that are withheld from the hold-out. */
export function armsFields(form: FormBuilder, context: PublisherContext, question: Question): Html {
  if (question === 'holdout') return html`<p>${t('experimentWizard.holdoutLead')}</p>${withheldField(form, context)}`;
  const { offersPerResponse, defaultTheme } = context.publisher;
  const today: Partial<Record<Question, string>> = {
    offers: t('experimentWizard.todayOffers', { count: offersPerResponse }),
    ...(defaultTheme !== null && { theme: t('experimentWizard.todayTheme', { theme: defaultTheme.name }) }),
  };
  const isTemporary = question === 'labels' || question === 'ranking';
  return html`
    <p>${t('experimentWizard.armsLead')} ${today[question]}</p>
    ${isTemporary && html`<p class="hint">${t('experimentWizard.onlyMeasured')}</p>`}
    ${armBlocks(form, context, question, 0)}`;
}

/** Renders the fields of an arm and, in a disclosure, those of the next arm. */
function armBlocks(form: FormBuilder, context: PublisherContext, question: Question, at: number): Html {
  const name = armNames[at];
  if (name === undefined) return nothing;
  const { main, others } = changeFields(form, name, context, kindsOf(question));
  const of = t('experiments.arm', { number: at + 1 });
  const key = form.input(`${name}.key`, {
    of,
    label: t('experimentWizard.armName'),
    hint: t('experimentWizard.armNameHint', { key: defaultKey(name) }),
    maxLength: 64,
  });
  const next = armBlocks(form, context, question, at + 1);
  return html`
    ${fieldGroup(
      of,
      main.length === 1 && question !== 'labels' ? columns([key, ...main]) : html`${key}${columns(main)}`,
      disclosure(form, t('experimentWizard.moreChanges'), others),
    )}
    ${at + 1 < armNames.length && disclosure(form, t('experimentWizard.another'), next)}`;
}

function kindsOf(question: Question): readonly ChangeKind[] {
  const kind = changeKinds.find((candidate) => candidate === question);
  return kind === undefined ? changeKinds.filter((candidate) => candidate !== 'labels') : [kind];
}

/** Renders the fields of the third step: who takes part, and which difference matters, with the expected duration. */
export function trafficFields(
  form: FormBuilder,
  context: PublisherContext,
  { question, plan }: { question: Question; plan: Html },
): Html {
  const isHoldout = question === 'holdout';
  const used = isHoldout ? [] : armsIn(stateOf(fieldsOf(form.values)));
  const shares = [
    percentField(form, 'control', t('experiments.control')),
    ...used.map((name) => {
      const arm = String(form.values[`${name}.key`] ?? '') || defaultKey(name);
      return percentField(form, `${name}.share`, t('experimentWizard.shareOf', { arm }));
    }),
  ];
  const holdout = columns([holdoutField(form), withheldField(form, context)]);
  return html`
    ${placementsField(form, context)}
    ${columns([
      isHoldout
        ? holdoutField(form)
        : percentField(form, 'traffic', t('experimentWizard.traffic'), t('experimentWizard.trafficHint')),
      liftField(form),
    ])}
    ${plan}
    ${disclosure(form, t('experimentWizard.times'), timeFields(form, context))}
    ${disclosure(form, t('experimentWizard.shares'), columns(shares))}
    ${!isHoldout && disclosure(form, t('experimentWizard.withHoldout'), holdout)}
    ${disclosure(form, t('experimentWizard.rollout'), columns([rampField(form), layerField(form)]))}`;
}

type Checked = { values: ExperimentValues; duration: Html; key: string };

/** Renders the last step: what will happen, and the values to look at again. */
export function checkSummary(context: PublisherContext, { values, duration, key }: Checked): Html {
  return html`
    <ul class="sentences">
      ${[...whatHappens(values, context), duration, endOf(values, context)].map((text) => html`<li>${text}</li>`)}
    </ul>
    ${descriptionList([
      [t('experiments.name'), html`<span translate="no">${values.name}</span>`],
      [t('experiments.key'), html`<code>${key}</code>`],
    ])}`;
}

/** Describes what happens once the experiment has been created. */
function whatHappens(values: ExperimentValues, { publisher }: PublisherContext): string[] {
  const { placements, arms, holdout, ramp, start_at: start } = values;
  const rest = 1 - arms.reduce((sum, { share }) => sum + share, holdout);
  return [
    start === null
      ? t('experimentWizard.startsNow', { button: t('experimentWizard.start') })
      : t('experimentWizard.startsAt', { at: momentText(publisher, Date.parse(start)) }),
    t('experimentWizard.covers', { count: placements?.length ?? 0, names: placements?.join(', ') ?? '' }),
    inWords(values, publisher),
    // With thirds, shares add up to 99.99%.
    ...(rest > 0.001 ? [t('experimentWizard.othersStay', { share: percent(Math.round(rest * 1e4) / 1e4) })] : []),
    ...(ramp === null ? [] : [t('experimentWizard.grows')]),
    t('experimentWizard.compares'),
  ];
}

const endOf = ({ end_at: end }: ExperimentValues, { publisher }: PublisherContext): string =>
  end === null
    ? t('experimentWizard.untilStopped')
    : t('experimentWizard.endsAt', { at: momentText(publisher, Date.parse(end)) });
