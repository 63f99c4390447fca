/** How much longer than its call a lease lasts (milliseconds): time to write the outcome. */
export const leaseGraceMs = 10_000;
