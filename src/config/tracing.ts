/** Trace export and sampling settings. */
export type TracingSetting = {
  /** Base URL of the OTLP/HTTP collector. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  sampler: Sampler;
  /** Share of traces to sample, from 0 to 1. Used only by ratio-based samplers. */
  ratio: number;
};

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type Sampler = (typeof samplers)[number];

type TracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: string;
  OTEL_EXPORTER_OTLP_HEADERS: string;
  OTEL_SERVICE_NAME: string;
  OTEL_TRACES_SAMPLER: string;
  OTEL_TRACES_SAMPLER_ARG: string;
};

/**
 * Parses the standard OpenTelemetry environment variables, which enable and configure tracing.
 * @returns null if tracing is disabled
 */
export function parseTracing(raw: TracingVariables, problems: string[]): TracingSetting | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg } = raw;
  if (endpoint === '') return null;
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    problems.push('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL of a collector, such as http://localhost:4318');
  if (!isSampler(sampler)) problems.push(`OTEL_TRACES_SAMPLER must be one of ${samplers.join(', ')}`);
  const ratio = Number(arg);
  if (!(ratio >= 0 && ratio <= 1)) problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1');
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    headers: parseHeaders(raw.OTEL_EXPORTER_OTLP_HEADERS, problems),
    serviceName: raw.OTEL_SERVICE_NAME,
    sampler: isSampler(sampler) ? sampler : 'parentbased_always_on',
    ratio,
  };
}

const isSampler = (text: string): text is Sampler => (samplers as readonly string[]).includes(text);

/** Parses headers in the form `name=value,name=value` with percent-encoded values. */
function parseHeaders(text: string, problems: string[]): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const entries = pairs.map((pair) => /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(pair));
  try {
    if (entries.includes(null)) throw new Error('not a pair');
    return Object.fromEntries(entries.map((entry) => [entry?.[1], decodeURIComponent(entry?.[2] ?? '')]));
  } catch {
    problems.push('OTEL_EXPORTER_OTLP_HEADERS must have the form name=value,name=value');
    return {};
  }
}
