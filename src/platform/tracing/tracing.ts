type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An operation of a trace that can have child operations. Times are those of `performance.now()`. */
export type Trace = {
  /** Header value of W3C Trace Context with this operation as the parent. */
  traceparent: string;
  /** Adds a finished child operation. */
  child: (name: string, startMs: number, endMs: number, attributes?: Attributes) => void;
};

/** An operation that has not ended. */
export type Span = Trace & {
  /**
   * Ends the operation.
   * @param failure the problem, if any
   */
  end: (attributes: Attributes, failure?: string | null) => void;
};

/** Traces of OpenTelemetry (docs/monitoring.md#traces). */
export type Tracing = {
  /** Whether tracing is enabled. If not, no context is passed on. */
  isOn: boolean;
  /**
   * Starts an operation. Returns null if it is not sampled and there is no context to pass on.
   * @param traceparent header that the caller sent, or the stored part of it
   */
  start: (name: string, kind: 'server' | 'client', traceparent: string | null) => Span | null;
  /** Sends the pending spans. */
  close: () => Promise<void>;
};

export const noTracing: Tracing = { isOn: false, start: () => null, close: async () => {} };
