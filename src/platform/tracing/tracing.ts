type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Traced operation that can have child operations. Times are values of `performance.now()`. */
export type Trace = {
  /** W3C Trace Context header value with this operation as the parent. */
  traceparent: string;
  /** Adds a completed child operation. */
  child: (name: string, startMs: number, endMs: number, attributes?: Attributes) => void;
};

/** Operation that has not ended yet. */
export type Span = Trace & {
  /**
   * Ends the operation.
   * @param failure error description, if the operation failed
   */
  end: (attributes: Attributes, failure?: string | null) => void;
};

/** OpenTelemetry tracing (docs/monitoring.md#traces). */
export type Tracing = {
  /** Whether tracing is enabled. If not, no trace context is passed on. */
  isOn: boolean;
  /**
   * Starts an operation. Returns null if it is not sampled and there is no trace context to pass on.
   * @param traceparent header that the caller sent, or the part of it that was stored
   */
  start: (name: string, kind: 'server' | 'client', traceparent: string | null) => Span | null;
  /** Exports the pending spans. */
  close: () => Promise<void>;
};

export const noTracing: Tracing = { isOn: false, start: () => null, close: async () => {} };
