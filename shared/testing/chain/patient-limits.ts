export const HOUR_MS = 3_600_000;

/** Limits of a client that are longer than jest waits: no answer is late, no quarantine ends, and no heads are compared. */
export const PATIENT_LIMITS = { withinMs: HOUR_MS, quarantineMs: HOUR_MS, compareMs: HOUR_MS };
