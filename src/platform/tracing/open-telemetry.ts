import {
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { TracingSetting } from '../../config.ts';
import { version } from '../version.ts';
import type { Span, Tracing } from './tracing.ts';

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

/** Export timeout, in milliseconds. It also applies to the final export when the process exits. */
const exportTimeoutMs = 5000;

/**
 * Starts OpenTelemetry. Spans are exported in the background. If the collector is down, at most 2,048 spans are queued
 * and the rest are dropped.
 * @param random returns numbers in [0, 1)
 */
export function startOpenTelemetry(
  setting: TracingSetting,
  onError: (err: Error) => void,
  random: () => number = Math.random,
): Tracing {
  const { endpoint, headers, serviceName } = setting;
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: exportTimeoutMs,
  });
  const provider = new BasicTracerProvider({
    sampler: samplerOf(setting),
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor(reporting(exporter, onError), { exportTimeoutMillis: exportTimeoutMs })],
  });
  const tracer = provider.getTracer('perkwire', version);
  return {
    isOn: true,
    start: (name, kind, traceparent) => {
      const remote = traceparent === null ? null : parse(traceparent);
      return remote === null && isLeftOut(setting, random) ? null : startSpan(tracer, name, kinds[kind], remote);
    },
    close: () => provider.shutdown().catch(onError),
  };
}

/**
 * Whether sampling excludes a new trace. This is decided before the SDK generates IDs for the trace, which would take 1
 * µs, a twentieth of a beacon request (docs/adr/0019-sample-traces-early.md).
 */
const isLeftOut = ({ sampler, ratio }: TracingSetting, random: () => number): boolean =>
  sampler === 'parentbased_traceidratio' && random() >= ratio;

function startSpan(tracer: Tracer, name: string, kind: SpanKind, remote: SpanContext | null): Span | null {
  const parent = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
  const span = tracer.startSpan(name, { kind }, parent);
  if (!span.isRecording()) return remote === null ? null : passedOn(remote);
  const own = trace.setSpan(ROOT_CONTEXT, span);
  return {
    traceparent: format(span.spanContext()),
    child: (part, startMs, endMs, attributes = {}) =>
      tracer.startSpan(part, { startTime: startMs, attributes }, own).end(endMs),
    end: (attributes, failure = null) => {
      span.setAttributes(attributes);
      if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      span.end();
    },
  };
}

/** Creates a span that only passes on the caller's trace context, because the caller's trace is not sampled. */
const passedOn = (remote: SpanContext): Span => ({ traceparent: format(remote), child: () => {}, end: () => {} });

/**
 * Parses a traceparent header. As W3C Trace Context requires, an invalid header is treated as missing, and headers of
 * later versions may contain additional fields.
 */
function parse(traceparent: string): SpanContext | null {
  const [, id, traceId = '', spanId = '', flags = '', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(traceparent) ?? [];
  if (id === undefined || id === 'ff' || (id === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

const format = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;

function samplerOf({ sampler, ratio }: TracingSetting): Sampler {
  // Sample all remaining root traces, because `isLeftOut` has already applied the sampling ratio.
  if (sampler === 'parentbased_traceidratio') return new ParentBasedSampler({ root: new AlwaysOnSampler() });
  const name = sampler.replace('parentbased_', '');
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return name === sampler ? root : new ParentBasedSampler({ root });
}

/** Wraps an exporter so that its errors are reported. Otherwise, they would be lost. */
const reporting = (exporter: SpanExporter, onError: (err: Error) => void): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      if (result.error !== undefined) onError(result.error);
      done(result);
    }),
  forceFlush: async () => exporter.forceFlush?.(),
  shutdown: () => exporter.shutdown(),
});
