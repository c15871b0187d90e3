export const isFullSize = process.env['ATTACK_SIZE'] === 'full';

/** Returns the size of an attack: small, unless `ATTACK_SIZE=full`. */
export const sized = <Size>({ small, full }: { small: Size; full: Size }): Size => (isFullSize ? full : small);
