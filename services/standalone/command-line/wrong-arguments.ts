import { CannotStart } from '../../../shared/errors/cannot-start.ts';

/** Arguments that commander takes, and that do not fit together. The command ends with exit code 2. */
export class WrongArguments extends CannotStart {
  override readonly name = 'WrongArguments';
}
