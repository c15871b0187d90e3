const SIGNATURE_BYTES = 16;

/**
 * Returns the later of two values of `x-position`. They are opaque to other clients; this client belongs to the
 * service.
 */
export const laterPosition = (one: string | undefined, other: string | undefined): string | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return positionIn(other) > positionIn(one) ? other : one;
};

/** Reads the position in front of its signature, which the service verifies. */
const positionIn = (text: string): number =>
  Number(atob(text.replaceAll('-', '+').replaceAll('_', '/')).slice(0, -SIGNATURE_BYTES));
