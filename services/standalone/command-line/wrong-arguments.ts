import { CannotStart } from '../../../shared/errors/cannot-start.ts';

/** Arguments that commander accepts, but that contradict each other. The command ends with exit code 2. */
export class WrongArguments extends CannotStart {
  override readonly name = 'WrongArguments';
}
