import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { isAllowedHeader, isHeaderValue, maxHeaders } from '../endpoints/custom-headers.ts';
import { createEvaluators, type Evaluators, type Transformation, type TransformationFailure } from './evaluators.ts';

/** Maximum length of an expression, in characters. */
export const maxExpressionLength = 10_000;

/** Parts of a request that a transformation has made. */
export type TransformedParts = {
  /** Body to sign and send, or null if the payload is sent unchanged. */
  body: Buffer | null;
  /** Headers in lower case, which take precedence over the endpoint's custom headers. */
  headers: Record<string, string>;
};

type TransformOutcome = { parts: TransformedParts } | { failed: TransformationFailure };

/** Event that a transformation is applied to. */
type TransformInput = {
  transformation: Transformation;
  deliveryId: string;
  event: string;
  dev: boolean;
  payload: Buffer;
  /** Client of the evaluators, so that publishers share them equally. */
  publisherId: number;
};

export type Transformer = {
  /**
   * Applies a transformation to an event.
   * @throws if no evaluator is available
   */
  apply: (input: TransformInput) => Promise<TransformOutcome>;
  /**
   * Checks the syntax of a transformation.
   * @throws AppError `invalid_endpoint` with the position of the error
   */
  check: (transformation: Transformation | null | undefined, publisherId: number) => Promise<void>;
  close: () => void;
};

export function createTransformer(evaluators: Evaluators = createEvaluators()): Transformer {
  return {
    apply: async ({ transformation, deliveryId, event, dev, payload, publisherId }) => {
      const values = { event, webhook_id: `msg_${deliveryId.replaceAll('-', '')}`, dev };
      const reply = await evaluators.run({ transformation, input: payload.toString('utf8'), values }, publisherId);
      if ('failed' in reply) return { failed: reply.failed };
      const { body, isText, headers } = reply;
      const isRaw = body !== null && isText;
      const contentType = isRaw ? 'text/plain; charset=utf-8' : 'application/json';
      const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
      const wrong = wrongHeader(entries, body !== null);
      if (wrong !== null) return { failed: { reason: 'expression', part: 'headers', message: wrong, position: null } };
      const all = { ...(body !== null && { 'content-type': contentType }), ...Object.fromEntries(entries) };
      return { parts: { body: body === null ? null : Buffer.from(body), headers: all } };
    },
    check: async (transformation, publisherId) => {
      if (transformation === null || transformation === undefined) return;
      const reply = await evaluators.run({ transformation, input: null, values: {} }, publisherId);
      if (!('failed' in reply)) return;
      throw new AppError('invalid_endpoint', { details: [detailOf(reply.failed)] });
    },
    close: evaluators.close,
  };
}

/** Returns the reason of a failure as stored in the delivery log, such as `body, position 12: …`. */
export function failureText({ part, position, message }: TransformationFailure): string {
  if (part === null) return message;
  return position === null ? `${part}: ${message}` : `${part}, position ${position}: ${message}`;
}

function detailOf({ part, message, position }: TransformationFailure): ErrorDetail {
  return {
    path: `/transformation/${part ?? 'body'}`,
    message:
      position === null
        ? problem('expressionInvalid', { message })
        : problem('expressionInvalidAt', { message, position }),
  };
}

/** Returns why the headers cannot be sent, or null if they can. */
function wrongHeader(headers: readonly (readonly [string, string])[], hasBody: boolean): string | null {
  if (headers.length > maxHeaders) return `at most ${maxHeaders} headers are possible`;
  for (const [name, value] of headers) {
    const label = name.slice(0, 100);
    if (!isAllowedHeader(name) && !(hasBody && name === 'content-type'))
      return `the header “${label}” is invalid or reserved`;
    if (!isHeaderValue(value)) return `the value of the header “${label}” must be visible ASCII characters`;
  }
  return null;
}
