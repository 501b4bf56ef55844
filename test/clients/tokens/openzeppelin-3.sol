// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.6.12;

import "openzeppelin-3/presets/ERC20PresetMinterPauser.sol";
import "openzeppelin-3/presets/ERC721PresetMinterPauserAutoId.sol";
import "openzeppelin-3/presets/ERC1155PresetMinterPauser.sol";

contract Oz3Erc20 is ERC20PresetMinterPauser {
    constructor(address[] memory holders) public ERC20PresetMinterPauser("Token", "T") {
        _setupDecimals(8);
        for (uint256 i = 0; i < holders.length; i++) mint(holders[i], 150050000001 + i);
    }
}

contract Oz3Erc721 is ERC721PresetMinterPauserAutoId {
    constructor(address[] memory holders) public ERC721PresetMinterPauserAutoId("Token", "T", "") {
        for (uint256 i = 0; i < holders.length * 3; i++) mint(holders[i / 3]);
    }
}

contract Oz3Erc1155 is ERC1155PresetMinterPauser {
    constructor(address[] memory holders) public ERC1155PresetMinterPauser("") {
        for (uint256 i = 0; i < holders.length; i++) mint(holders[i], i + 1, 30 + i, "");
    }
}
