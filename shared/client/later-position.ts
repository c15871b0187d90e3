const SIGNATURE_BYTES = 16;

/** Returns the later of two values of `x-position`. They are opaque to others; this client comes with the service. */
export const laterPosition = (one: string | undefined, other: string | undefined): string | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return positionIn(other) > positionIn(one) ? other : one;
};

/** Reads the position before its signature; the service checks that. */
const positionIn = (text: string): number =>
  Number(atob(text.replaceAll('-', '+').replaceAll('_', '/')).slice(0, -SIGNATURE_BYTES));
